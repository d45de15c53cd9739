import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_KUBERNETES_VERSION, fnv1a32, mirrorPaths, ExternalFailure } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { ensureRootfs, findings, hasRootfs, obstacles, openLocal, packagesOf, type Local } from '@fairlead/nspawn';
import { CliFailure } from '../failures.js';
import { SITES, type UpSettings } from './up.settings.js';

const { connection } = SITES.nspawn;
/** What infra-svc calls the network of a connection. */
const NETWORK = `${connection}-vpc`;
/** Ranges of a data folder's network that are tried, beginning with one that follows from the folder. */
const RANGES_MAX = 16;
const RANGES = 256;

/** The local hosts of an instance, as far as they must be there before anything else is. */
export interface LocalHosts {
  /** The address on which hosts find us: NATS must listen there. */
  readonly address: string;
  /** The settings of the connection. */
  readonly settings: Readonly<Record<string, string>>;
  /**
   * With `everything`, shuts down the hosts, which the next start brings back; else they go on. Their network goes when there are none.
   * Answers with a sentence on what still runs.
   */
  release(everything: boolean): Promise<string | undefined>;
}

interface Teller {
  readonly onStep: (title: string, durationMs: number) => void;
  readonly onNotice: (sentence: string) => void;
}

/** Checks that this machine can have hosts, and makes what they stand on. Throws sentences that say what helps. */
export const prepareLocalHosts = async (
  { dataDir, demo }: UpSettings,
  env: NodeJS.ProcessEnv,
  tell: Teller,
): Promise<LocalHosts> => {
  const stateDir = join(dataDir, 'hosts');
  const cacheDir = cacheFolder(env);
  const local = await friendly(() => openLocal({ stateDir: join(stateDir, connection), cacheDir }));
  await refuseUnable(runningIn(local), stateDir);
  const mirror = localMirror(env);
  refuseWithoutMirror(mirror, demo?.kubernetesVersion ?? DEFAULT_KUBERNETES_VERSION);
  await friendly(() => buildRootfs(cacheDir, tell));
  const startedAtMs = performance.now();
  const { cidr, uplink } = await friendly(() => ensureNetwork(local, dataDir));
  await friendly(() => local.resume());
  tell.onStep(`Network of local hosts (${cidr})`, performance.now() - startedAtMs);
  return {
    address: uplink,
    settings: { stateDir, cacheDir, mirror, networkCidr: cidr },
    release: (everything) => release(local, everything),
  };
};

const release = async (local: Local, everything: boolean): Promise<string | undefined> => {
  const hosts = local.hosts.all();
  if (hosts.length === 0 && local.balancers.all().length === 0) {
    await local.clear();
    return undefined;
  }
  const running = runningIn(local);
  if (everything) await local.suspend();
  return everything || running === 0 ? undefined : `${running} local hosts go on running`;
};

const runningIn = ({ hosts }: Local): number => hosts.all().filter(({ status }) => status === 'running').length;

/** Hosts that an earlier start left running have their share of what is limited already. */
const refuseUnable = async (hostsRunning: number, folder: string): Promise<void> => {
  const inTheWay = await obstacles({ hostsRunning, folder });
  if (inTheWay.length === 0) return;
  const { missingPrograms } = await findings();
  throw new CliFailure('failed', {
    code: 'cli.hosts-impossible',
    message: `This machine cannot have local hosts: ${inTheWay.join('; ')}`,
    help:
      missingPrograms.length === 0
        ? 'Use --provider lab, whose hosts are simulated.'
        : `Debian's packages are: ${packagesOf(missingPrograms).join(' ')}. Or use --provider lab, whose hosts are simulated.`,
  });
};

const refuseWithoutMirror = (mirror: string, version: string): void => {
  if (existsSync(join(mirror, mirrorPaths.binary(version, 'kubeadm')))) return;
  throw new CliFailure('failed', {
    code: 'cli.mirror-missing',
    message: `Local hosts get Kubernetes from ${mirror}, which has no ${version}`,
    help: `Make it (Go is needed; a few minutes, once): npm run kubernetes:build -- ${version}`,
  });
};

const buildRootfs = async (cacheDir: string, { onStep, onNotice }: Teller): Promise<void> => {
  if (!hasRootfs(cacheDir)) onNotice('Building the root file system of local hosts (a minute and a half, once) ...');
  const startedAtMs = performance.now();
  await ensureRootfs(cacheDir, (line) => onNotice(`  ${line}`));
  onStep('Root file system of local hosts', performance.now() - startedAtMs);
};

/** The network keeps its range; a new one gets the first that is free on this machine. */
const ensureNetwork = async (local: Local, dataDir: string) => {
  const first = fnv1a32(dataDir) % RANGES;
  const ranges = Array.from({ length: RANGES_MAX }, (_, at) => `198.18.${(first + at) % RANGES}.0/24`);
  let last: unknown;
  for (const cidr of ranges) {
    try {
      return await local.networks.ensure(NETWORK, cidr);
    } catch (error) {
      if (!(error instanceof ExternalFailure) || error.retryable) throw error;
      last = error;
    }
  }
  throw last;
};

/** What is in the way of hosts is a sentence already; it only needs its exit class. */
const friendly = async <Result>(work: () => Result | Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ExternalFailure)) throw error;
    const message = `${error.operation} failed: ${error.message}`;
    throw new CliFailure('failed', { code: 'cli.hosts-failed', message, cause: error });
  }
};
