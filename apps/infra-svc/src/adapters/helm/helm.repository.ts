import { Charts, type ChartRepository as ChartSource } from '@fairlead/service-kit/charts';
import type { RepositoryHttp } from '@fairlead/service-kit/http';
import { newestIn } from '../../catalogue/catalogue.planner.js';
import {
  CatalogueFailure,
  type ChartRepository,
  type ChartSchemas,
  type IndexedVersion,
  type RepositoryAccess,
} from '../../catalogue/catalogue.ports.js';
import { schemasIn } from './helm.archive.js';

/** Charts from Helm repositories and registries. */
export class HelmRepository implements ChartRepository {
  private readonly charts: ChartSource;

  constructor(http: RepositoryHttp) {
    this.charts = new Charts(http);
  }

  versions(access: RepositoryAccess, signal: AbortSignal): Promise<readonly IndexedVersion[]> {
    return this.charts.versions(access, (versions) => newestIn(access, versions), signal);
  }

  async schemas(access: RepositoryAccess, indexed: IndexedVersion, signal: AbortSignal): Promise<ChartSchemas> {
    const bytes = await this.charts.archive(access, indexed, signal);
    try {
      return await schemasIn(bytes, access.chart, signal);
    } catch (error) {
      if (!(error instanceof CatalogueFailure)) throw error;
      throw new CatalogueFailure(error.reason, `the archive of version ${indexed.version}: ${error.message}`);
    }
  }
}
