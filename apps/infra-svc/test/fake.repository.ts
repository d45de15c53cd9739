import type {
  CatalogueFailure,
  ChartRepository,
  ChartSchemas,
  IndexedVersion,
  RepositoryAccess,
} from '../src/catalogue/catalogue.ports.js';

export const digestOf = (letter: string): string => letter.repeat(64);

export const indexed = (version: string, changes: Partial<IndexedVersion> = {}): IndexedVersion => ({
  version,
  appVersion: '1.0',
  digest: digestOf('a'),
  deprecated: false,
  url: `https://charts.example.org/grafana-${version}.tgz`,
  ...changes,
});

/** A repository, and what was downloaded from it. */
export class FakeRepository implements ChartRepository {
  index: readonly IndexedVersion[] = [];
  /** Set to fail every request for the index, or for the archive of this version. */
  failure: CatalogueFailure | undefined;
  readonly broken = new Map<string, CatalogueFailure>();
  /** Every downloaded version, in order. */
  readonly downloads: string[] = [];
  reads = 0;

  async versions(): Promise<readonly IndexedVersion[]> {
    this.reads += 1;
    if (this.failure !== undefined) throw this.failure;
    return this.index;
  }

  async schemas(_access: RepositoryAccess, { version }: IndexedVersion): Promise<ChartSchemas> {
    this.downloads.push(version);
    const failure = this.broken.get(version);
    if (failure !== undefined) throw failure;
    return { schema: `{"title":"${version}"}`, uiSchema: null };
  }
}
