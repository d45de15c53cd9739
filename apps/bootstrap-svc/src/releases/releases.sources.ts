import { ExternalFailure, type Addon } from '@fairlead/contracts';
import type {
  ChartArchives,
  DesiredRelease,
  ReleaseSource,
  RepositoryCredentials,
  SealedSecret,
  SealedValues,
} from './releases.ports.js';
import { mergedValues, sealedTexts } from './releases.values.js';

/** Objects without a chart have no version. */
export const MANIFESTS_VERSION = '0.0.0';

const noSecret = (name: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'open the add-on secret', target: name, message });

const setOf = (name: string): string => `set it with "fairlead addon set-secret ${name}"`;

/** The content of an add-on: its chart or objects, with declared and sealed values. */
export class ReleaseSources {
  constructor(
    private readonly archives: ChartArchives,
    private readonly sealed: SealedValues,
  ) {}

  async desired(namespace: string, addon: Addon, signal: AbortSignal): Promise<DesiredRelease> {
    const { values = {}, valuesFrom = [] } = addon;
    const secrets = new Map<string, SealedSecret>();
    for (const { secretName } of valuesFrom) secrets.set(secretName, await this.secret(namespace, secretName));
    const below = valuesFrom.map(({ secretName }) => secrets.get(secretName)?.values ?? {});
    return {
      source: await this.source(namespace, addon, signal),
      values: mergedValues([...below, values]),
      sealed: [...secrets.values()].flatMap((secret) => sealedTexts(secret.values)),
      setBy: setByOf(secrets),
      waits: addon.class !== 'bootstrap',
    };
  }

  /** The events that set the sealed values of an add-on, by secret name. */
  async setBy(namespace: string, { valuesFrom = [] }: Addon): Promise<Readonly<Record<string, string>>> {
    const secrets = new Map<string, SealedSecret>();
    for (const { secretName } of valuesFrom) secrets.set(secretName, await this.secret(namespace, secretName));
    return setByOf(secrets);
  }

  private async secret(namespace: string, name: string): Promise<SealedSecret> {
    const secret = await this.sealed.get(namespace, name);
    if (secret === undefined) throw noSecret(name, `the namespace has no add-on secret ${name}; ${setOf(name)}`);
    return secret;
  }

  private async source(namespace: string, addon: Addon, signal: AbortSignal): Promise<ReleaseSource> {
    const { application, chart, version = MANIFESTS_VERSION, manifests = [] } = addon;
    if (application !== undefined)
      return { kind: 'archive', bytes: await this.archives.ofApplication(application, version, signal), version };
    if (chart === undefined) return { kind: 'manifests', manifests, version: MANIFESTS_VERSION };
    const { credentialsSecretName: name, ...named } = chart;
    const credentials = name === undefined ? undefined : await this.credentials(namespace, name);
    return {
      kind: 'archive',
      bytes: await this.archives.ofRepository({ ...named, version, credentials }, signal),
      version,
    };
  }

  private async credentials(namespace: string, name: string): Promise<RepositoryCredentials> {
    const { username, password } = (await this.secret(namespace, name)).values;
    if (typeof username === 'string' && typeof password === 'string') return { username, password };
    throw noSecret(name, `it has no username and password; ${setOf(name)}`);
  }
}

const setByOf = (secrets: ReadonlyMap<string, SealedSecret>): Readonly<Record<string, string>> =>
  Object.fromEntries([...secrets].map(([name, { setBy }]) => [name, setBy]));
