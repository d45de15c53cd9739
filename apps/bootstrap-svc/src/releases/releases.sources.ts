import { ExternalFailure, type Addon, type CloudOf, type InstalledAddon } from '@fairlead/contracts';
import { cloudConfigOf, cloudTextsOf, cloudValuesOf } from './cloud.config.js';
import type {
  ChartArchives,
  CloudConnection,
  CloudConnections,
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

/** Under which the event of the connection is recorded with a release. */
const CONNECTION = 'connection';

interface ClusterNamed {
  readonly namespace: string;
  readonly cluster: string;
}

/** The content of an add-on: its chart or objects, with declared and sealed values. */
export class ReleaseSources {
  constructor(
    private readonly archives: ChartArchives,
    private readonly sealed: SealedValues,
    private readonly clouds: CloudConnections,
  ) {}

  async desired(
    { namespace, cluster }: ClusterNamed,
    addon: InstalledAddon,
    signal: AbortSignal,
  ): Promise<DesiredRelease> {
    if (addon.cloud !== undefined) return this.ofCloud({ namespace, cluster }, addon, addon.cloud, signal);
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
  async setBy(
    namespace: string,
    { valuesFrom = [], cloud }: InstalledAddon,
  ): Promise<Readonly<Record<string, string>>> {
    if (cloud !== undefined) return { [CONNECTION]: (await this.cloud(cloud)).registration };
    const secrets = new Map<string, SealedSecret>();
    for (const { secretName } of valuesFrom) secrets.set(secretName, await this.secret(namespace, secretName));
    return setByOf(secrets);
  }

  /** The credential is in the Secret alone: the values of charts name it. */
  private async ofCloud(
    { namespace, cluster }: ClusterNamed,
    addon: InstalledAddon,
    cloud: CloudOf,
    signal: AbortSignal,
  ): Promise<DesiredRelease> {
    const connection = await this.cloud(cloud);
    const config = cloudConfigOf(cloud.provider, connection);
    const source: ReleaseSource =
      addon.manifests === undefined
        ? await this.source(namespace, addon, signal)
        : {
            kind: 'manifests',
            manifests: addon.manifests.map((secret) => ({ ...secret, stringData: config })),
            version: MANIFESTS_VERSION,
          };
    return {
      source,
      values: cloudValuesOf(cloud.provider, addon.name, `${namespace}-${cluster}`),
      sealed: cloudTextsOf(config, connection).flatMap(sealedTexts),
      setBy: { [CONNECTION]: connection.registration },
      waits: false,
    };
  }

  private async cloud({ connection }: CloudOf): Promise<CloudConnection> {
    const found = await this.clouds.get(connection);
    if (found !== undefined) return found;
    throw new ExternalFailure({
      operation: 'read the connection for the cloud controller',
      target: connection,
      message: `there is no connection ${connection} whose settings have cloudController: true`,
    });
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
