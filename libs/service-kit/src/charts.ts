import type { RepositoryHttp } from './repository.download.js';
import type { ChartAt, ChartRepository, ChooseVersions, IndexedVersion } from './charts/charts.ports.js';
import { HttpsCharts } from './charts/https.charts.js';
import { OciCharts } from './charts/oci.charts.js';

export { ChartFailure, type ChartAt, type ChartRepository, type IndexedVersion } from './charts/charts.ports.js';

/** Charts in repositories over HTTPS and in OCI registries. */
export class Charts implements ChartRepository {
  private readonly https: HttpsCharts;
  private readonly oci: OciCharts;

  constructor(http: RepositoryHttp) {
    this.https = new HttpsCharts(http);
    this.oci = new OciCharts(http);
  }

  versions(at: ChartAt, choose: ChooseVersions, signal: AbortSignal): Promise<readonly IndexedVersion[]> {
    return this.of(at).versions(at, choose, signal);
  }

  archive(at: ChartAt, indexed: IndexedVersion, signal: AbortSignal): Promise<Buffer> {
    return this.of(at).archive(at, indexed, signal);
  }

  private of({ repository }: ChartAt): ChartRepository {
    return repository.startsWith('oci:') ? this.oci : this.https;
  }
}
