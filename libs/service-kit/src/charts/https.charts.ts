import { downloadFrom, DownloadFailure, type RepositoryHttp } from '../repository.download.js';
import { basicOf, checkedArchive } from './chart.archive.js';
import { versionsIn } from './chart.index.js';
import { ARCHIVE_BYTES_MAX, INDEX_BYTES_MAX } from './chart.limits.js';
import {
  ChartFailure,
  type ChartAt,
  type ChartRepository,
  type ChooseVersions,
  type IndexedVersion,
} from './charts.ports.js';

type File = Pick<IndexedVersion, 'url'> & {
  readonly bytesMax: number;
  readonly tooLarge: 'IndexInvalid' | 'ArchiveInvalid';
};

/** A chart repository as defined by Helm: index.yaml, and the archives it lists, over HTTPS. */
export class HttpsCharts implements ChartRepository {
  constructor(private readonly http: RepositoryHttp) {}

  async versions(at: ChartAt, _choose: ChooseVersions, signal: AbortSignal): Promise<readonly IndexedVersion[]> {
    const base = `${at.repository.replace(/(?<!\/)\/+$/, '')}/`;
    const index: File = { url: `${base}index.yaml`, bytesMax: INDEX_BYTES_MAX, tooLarge: 'IndexInvalid' };
    return versionsIn(await this.download(at, index, signal), { repository: base, chart: at.chart }, signal);
  }

  async archive(at: ChartAt, indexed: IndexedVersion, signal: AbortSignal): Promise<Buffer> {
    const { url } = indexed;
    const file: File = { url, bytesMax: ARCHIVE_BYTES_MAX, tooLarge: 'ArchiveInvalid' };
    return checkedArchive(indexed, await this.download(at, file, signal));
  }

  private async download(
    { repository, ca, credentials }: ChartAt,
    { url, bytesMax, tooLarge }: File,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const authorization = credentials && basicOf(credentials);
    try {
      return await downloadFrom(this.http, { repository, ca, url, bytesMax, authorization }, signal);
    } catch (error) {
      if (!(error instanceof DownloadFailure)) throw error;
      throw new ChartFailure(error.isTooLarge ? tooLarge : 'RepositoryUnreachable', error.message);
    }
  }
}
