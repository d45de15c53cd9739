import {
  ExternalFailure,
  wordsOf,
  type AgentConfig,
  type AgentProfile,
  type HostProfile,
  type NodeAddress,
  type StreamId,
} from '@fairlead/contracts';
import { mintNodeCredentials, mintNodeJwt } from '@fairlead/embedded/credentials';
import type { OwnRuntime, PrepareInput, Tuning } from '@fairlead/node-scripts';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Cluster, Host } from '../bootstrap/bootstrap.state.js';
import type { Settings } from '../config.js';
import { NodeRuntime } from './node.runtime.js';
import { agentSource, nodeLabels, tuningOf } from './node.settings.js';
import { SoftwareBundles, type NamedBundle } from './software.bundles.js';

const VERSION_TIMEOUT_MS = 10_000;

export interface AgentBundle {
  readonly content: Uint8Array;
  readonly sha256: string;
  readonly version: string;
}

const versionOf = async (file: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, [file, '--version'], { timeout: VERSION_TIMEOUT_MS });
  return stdout.trim();
};

/** The agent's profile of its host: the settings that kubeadm also has, and the source of its software. */
const agentProfile = (
  tuning: Tuning,
  profile: HostProfile | undefined,
  { signers, direct }: { readonly signers: readonly string[]; readonly direct: readonly string[] },
): AgentProfile => {
  const tuned = tuningOf(tuning, profile);
  const { cgroupDriver, failSwapOn, imageRepository, imagePullPolicy, ignorePreflightErrors } = tuned;
  const { source = { kind: 'packages' } as const, proxy, rebootWhenRequired } = profile ?? {};
  return {
    source: agentSource(source, signers),
    cgroupDriver,
    failSwapOn,
    imagePullPolicy,
    ignorePreflightErrors: [...ignorePreflightErrors],
    ...(imageRepository === undefined ? {} : { imageRepository }),
    ...(rebootWhenRequired === undefined ? {} : { rebootWhenRequired }),
    ...(proxy === undefined ? {} : { proxy: { ...proxy, no: [...new Set([...direct, ...(proxy.no ?? [])])] } }),
  };
};

/** What never goes through a proxy: the host itself, pods, services and the API. The provider adds the network of the hosts. */
export const reachedDirectly = (
  { spec: { kubernetes }, endpoint }: Cluster,
  { privateIp }: Host['machine'],
): readonly string[] => [
  'localhost',
  '127.0.0.0/8',
  '::1',
  '.svc',
  `.${kubernetes.serviceDnsDomain}`,
  privateIp,
  kubernetes.podCidr,
  kubernetes.serviceCidr,
  ...(endpoint === null ? [] : [endpoint.host]),
];

/** The archive with a host's software; null: the software has another source. */
export const bundleOf = ({ machine }: Host): NamedBundle | null => {
  const source = machine.profile?.source;
  if (source?.kind !== 'bundle') return null;
  const { path, sha256, signedBy } = source;
  return { path, sha256, ...(signedBy === undefined ? {} : { signedBy }) };
};

/**
 * The files that a host needs to run its agent. The bundle is read once: all hosts have the same one until the next
 * start.
 */
export class AgentKit {
  private loaded: Promise<AgentBundle> | undefined;
  /** For hosts without Node.js. */
  readonly runtime = new NodeRuntime();
  readonly software: SoftwareBundles;

  constructor(
    private readonly settings: Settings['agent'],
    private readonly tuning: Tuning,
  ) {
    this.software = new SoftwareBundles(settings.softwareFolder);
  }

  bundle(): Promise<AgentBundle> {
    this.loaded ??= this.load().catch((error: unknown) => {
      this.loaded = undefined;
      throw new ExternalFailure({
        operation: 'read the agent',
        target: this.settings.bundle,
        message: wordsOf(error),
        cause: error,
      });
    });
    return this.loaded;
  }

  /** The parameters of the step that starts the agent. Its NATS credentials are new each time. */
  async prepareInput(stream: StreamId, cluster: Cluster, host: Host): Promise<PrepareInput> {
    const { sha256, version } = await this.bundle();
    const config = this.configOf(stream, cluster, host);
    const own = await this.runtime.facts();
    return {
      agent: { sha256, version },
      config,
      credentials: this.credentialsOf(stream, host),
      ...this.nodes(host, own),
      bundle: bundleOf(host),
    };
  }

  /**
   * A provider with a path of the runtime has installed it; on other hosts it may be missing, and this service sends
   * its own.
   */
  private nodes({ machine }: Host, own: OwnRuntime | null): Pick<PrepareInput, 'nodeBinary' | 'ownNode'> {
    const { nodeBinary } = machine.profile ?? {};
    if (nodeBinary !== undefined) return { nodeBinary, ownNode: null };
    return { nodeBinary: this.settings.nodeBinary, ownNode: own };
  }

  private async load(): Promise<AgentBundle> {
    const { bundle } = this.settings;
    const [content, version] = await Promise.all([readFile(bundle), versionOf(bundle)]);
    return { content, version, sha256: createHash('sha256').update(content).digest('hex') };
  }

  private configOf({ namespace, cluster }: StreamId, of: Cluster, { machine, desired }: Host): AgentConfig {
    if (desired === null) throw new Error(`the plan starts no agent before ${machine.name}'s software is decided`);
    return {
      namespace,
      cluster,
      uid: of.uid,
      node: machine.name,
      role: machine.role,
      leader: machine.leader,
      profile: agentProfile(this.tuning, machine.profile, {
        signers: this.settings.softwareSigners,
        direct: reachedDirectly(of, machine),
      }),
      natsUrls: [...this.settings.natsUrls],
      ...this.natsTrust(),
      heartbeatIntervalMs: this.settings.heartbeatIntervalMs,
      desired: {
        ...desired,
        software: { ...desired.software },
        ...(of.releases === undefined ? {} : { releases: [...of.releases] }),
      },
      nodeLabels: { ...nodeLabels(machine) },
    } as AgentConfig;
  }

  /** The CA certificates that agents currently trust; rotated ones reach them with their renewed credentials. */
  natsTrust(): { readonly natsCa?: string } {
    const { natsCa } = this.settings;
    return natsCa === undefined ? {} : { natsCa: natsCa() };
  }

  private credentialsOf({ namespace, cluster }: StreamId, { machine }: Host): string | null {
    const { signing, credentialLifetimeSeconds: expiresInSeconds } = this.settings;
    if (signing === null) return null;
    return mintNodeCredentials(signing, { namespace, cluster, node: machine.name, expiresInSeconds });
  }

  /**
   * New claims for a node's user, with at most the lifetime of the first ones; undefined: the NATS server requires
   * none.
   */
  renewedClaims(address: NodeAddress, userPublicKey: string, lifetimeSeconds: number): string | undefined {
    const { signing, credentialLifetimeSeconds } = this.settings;
    const expiresInSeconds = Math.min(credentialLifetimeSeconds, lifetimeSeconds);
    return signing === null ? undefined : mintNodeJwt(signing, { ...address, expiresInSeconds }, userPublicKey);
  }

  /** NATS URLs for agents. */
  get natsUrls(): readonly string[] {
    return this.settings.natsUrls;
  }

  /** The lifetime of new credentials. */
  get credentialLifetimeSeconds(): number {
    return this.settings.credentialLifetimeSeconds;
  }
}
