import type { ApplicationProblem } from '@fairlead/contracts';
import { downloadFrom, DownloadFailure, type RepositoryHttp } from '@fairlead/service-kit/http';
import { createHash } from 'node:crypto';
import {
  CatalogueFailure,
  type ChartRepository,
  type IndexedVersion,
  type RepositoryAccess,
} from '../../catalogue/catalogue.ports.js';
import { schemaIn } from './helm.archive.js';
import { versionsIn } from './helm.index.js';
import { ARCHIVE_BYTES_MAX, INDEX_BYTES_MAX } from './helm.limits.js';

interface File {
  readonly url: string;
  readonly bytesMax: number;
  readonly tooLarge: ApplicationProblem;
}

const INDEX: Omit<File, 'url'> = { bytesMax: INDEX_BYTES_MAX, tooLarge: 'IndexInvalid' };
const ARCHIVE: Omit<File, 'url'> = { bytesMax: ARCHIVE_BYTES_MAX, tooLarge: 'ArchiveInvalid' };

/** A chart repository as Helm defines it: index.yaml, and archives that it names, over HTTPS. */
export class HelmRepository implements ChartRepository {
  constructor(private readonly http: RepositoryHttp) {}

  async versions(access: RepositoryAccess, signal: AbortSignal): Promise<readonly IndexedVersion[]> {
    const base = `${access.repository.replace(/\/+$/, '')}/`;
    const bytes = await this.download(access, { url: `${base}index.yaml`, ...INDEX }, signal);
    return versionsIn(bytes, { repository: base, chart: access.chart }, signal);
  }

  async schema(access: RepositoryAccess, indexed: IndexedVersion, signal: AbortSignal): Promise<string | null> {
    const { version, digest, url } = indexed;
    const bytes = await this.download(access, { url, ...ARCHIVE }, signal);
    const actual = createHash('sha256').update(bytes).digest('hex');
    if (actual !== digest)
      throw new CatalogueFailure(
        'DigestMismatch',
        `the archive of version ${version} has the SHA-256 ${actual}, and the index says ${digest ?? 'nothing'}`,
      );
    try {
      return await schemaIn(bytes, access.chart, signal);
    } catch (error) {
      if (!(error instanceof CatalogueFailure)) throw error;
      throw new CatalogueFailure(error.reason, `the archive of version ${version}: ${error.message}`);
    }
  }

  private async download(
    { repository, ca }: RepositoryAccess,
    { url, bytesMax, tooLarge }: File,
    signal: AbortSignal,
  ): Promise<Buffer> {
    try {
      return await downloadFrom(this.http, { repository, ca, url, bytesMax }, signal);
    } catch (error) {
      if (!(error instanceof DownloadFailure)) throw error;
      throw new CatalogueFailure(error.isTooLarge ? tooLarge : 'RepositoryUnreachable', error.message);
    }
  }
}
