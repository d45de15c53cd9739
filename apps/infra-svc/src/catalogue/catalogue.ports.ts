import type { ApplicationSettings } from '@fairlead/contracts';
import type { ChartAt, IndexedVersion } from '@fairlead/service-kit/charts';

export { ChartFailure as CatalogueFailure, type IndexedVersion } from '@fairlead/service-kit/charts';

export type RepositoryAccess = ChartAt & Pick<ApplicationSettings, 'range' | 'keep'>;

/** The schemas from which a form for the values of a chart is generated, as compact JSON; null: the chart has none. */
export interface ChartSchemas {
  readonly schema: string | null;
  readonly uiSchema: string | null;
}

/** A chart repository. Every result is the expected response or a CatalogueFailure. */
export interface ChartRepository {
  /** The versions of the chart, in any order. */
  versions(access: RepositoryAccess, signal: AbortSignal): Promise<readonly IndexedVersion[]>;
  /** Downloads the archive and extracts the schemas. */
  schemas(access: RepositoryAccess, indexed: IndexedVersion, signal: AbortSignal): Promise<ChartSchemas>;
}
