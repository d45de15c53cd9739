import type { ApplicationProblem, ApplicationSettings } from '@fairlead/contracts';

/** A chart version from the index of a repository, or from a registry. */
export interface IndexedVersion {
  readonly version: string;
  readonly appVersion: string;
  /** SHA-256 of the archive; undefined: the index has none, or another kind of digest. */
  readonly digest: string | undefined;
  readonly deprecated: boolean;
  /** Absolute URL of the archive. */
  readonly url: string;
}

export interface RepositoryCredentials {
  readonly username: string;
  readonly password: string;
}

export interface ChartAt extends Pick<ApplicationSettings, 'repository' | 'chart' | 'ca'> {
  /** Sent only to the repository's host; absent: not required. */
  readonly credentials?: RepositoryCredentials | undefined;
}

/** Selects the versions to look up in full. */
export type ChooseVersions = (versions: readonly string[]) => readonly string[];

/** A repository of charts. Every method returns the requested data, or rejects with ChartFailure. */
export interface ChartRepository {
  /** The versions of the chart, in any order. If each costs a request, those not chosen have no digest. */
  versions(at: ChartAt, choose: ChooseVersions, signal: AbortSignal): Promise<readonly IndexedVersion[]>;
  /** The archive, verified against the digest that the repository states. */
  archive(at: ChartAt, indexed: IndexedVersion, signal: AbortSignal): Promise<Buffer>;
}

/** Why a chart is not available. The message is safe to show and to store. */
export class ChartFailure extends Error {
  constructor(
    readonly reason: ApplicationProblem,
    message: string,
  ) {
    super(message);
    this.name = 'ChartFailure';
  }
}
