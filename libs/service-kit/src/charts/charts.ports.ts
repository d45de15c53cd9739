import type { ApplicationProblem, ApplicationSettings } from '@fairlead/contracts';

/** A version as the index of a repository, or a registry, has it. */
export interface IndexedVersion {
  readonly version: string;
  readonly appVersion: string;
  /** SHA-256 of the archive; undefined: the index does not say, or something else than that. */
  readonly digest: string | undefined;
  readonly deprecated: boolean;
  /** Where the archive is, absolute. */
  readonly url: string;
}

export interface RepositoryCredentials {
  readonly username: string;
  readonly password: string;
}

export interface ChartAt extends Pick<ApplicationSettings, 'repository' | 'chart' | 'ca'> {
  /** Sent to the host of the repository, and to no other; absent: it needs none. */
  readonly credentials?: RepositoryCredentials | undefined;
}

/** Which versions are of use, of those that there are. */
export type ChooseVersions = (versions: readonly string[]) => readonly string[];

/** A repository of charts. Whatever it answers is what was asked for, or a ChartFailure. */
export interface ChartRepository {
  /** The versions of the chart, in any order. Where each costs a request, those that are not chosen have no digest. */
  versions(at: ChartAt, choose: ChooseVersions, signal: AbortSignal): Promise<readonly IndexedVersion[]>;
  /** The archive, with the digest that the repository states. */
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
