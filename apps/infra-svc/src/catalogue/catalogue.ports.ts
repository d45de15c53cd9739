import type { ApplicationProblem, ApplicationSettings } from '@fairlead/contracts';

/** A version as the index of a repository has it. */
export interface IndexedVersion {
  readonly version: string;
  readonly appVersion: string;
  /** SHA-256 of the archive; undefined: the index does not say, or something else than that. */
  readonly digest: string | undefined;
  readonly deprecated: boolean;
  /** Where the archive is, absolute. */
  readonly url: string;
}

export type RepositoryAccess = Pick<ApplicationSettings, 'repository' | 'chart' | 'ca'>;

/** A repository of charts. Whatever it answers is what was asked for, or a CatalogueFailure. */
export interface ChartRepository {
  /** The versions of the chart, in any order. */
  versions(access: RepositoryAccess, signal: AbortSignal): Promise<readonly IndexedVersion[]>;
  /** Downloads the archive: the schema of its values as compact JSON; null: it has none. */
  schema(access: RepositoryAccess, indexed: IndexedVersion, signal: AbortSignal): Promise<string | null>;
}

/** Why an application cannot be synchronized. The message is safe to show and to store. */
export class CatalogueFailure extends Error {
  constructor(
    readonly reason: ApplicationProblem,
    message: string,
  ) {
    super(message);
    this.name = 'CatalogueFailure';
  }
}
