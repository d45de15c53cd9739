import { findHelm } from '@fairlead/mirror';
import { join } from 'node:path';
import { handoverWords, holdsLog, isSource, wordsOf, type HandoverRecord } from '@fairlead/contracts';
import {
  freePorts,
  identityOf,
  isAlive,
  isPortFree,
  LOOPBACK,
  NATS_PROCESS,
  prepareDataFolder,
  startEnvironment,
  Supervisor,
  type Environment,
  type ReplicaState,
} from '@fairlead/embedded';
import { CliFailure } from '../failures.js';
import { CHECKOUT } from '../checkout.js';
import { readInstance, removeInstance, type Instance } from '../instance/instance.store.js';
import { VERSION } from '../version.js';
import { removeEnvFile, writeEnvFile } from './env-file.store.js';
import { ensureKeys, ensureTunnelAuthority, type InstanceKeys } from './keys.store.js';
import { storeLines } from './stores.text.js';
import { Starting } from './programs.effects.js';
import {
  planPrograms,
  serviceProgram,
  type ProgramName,
  type ProgramPlan,
  type Surroundings,
} from './programs.planner.js';
import { prepareLocalHosts, type LocalHosts } from './local-hosts.effects.js';
import { LocalTokenWatch } from './local-token.effects.js';
import { downOf, SlowStarts, streamsAgain } from './outages.effects.js';
import type { SiteAccess } from './registration.effects.js';
import { simulatedRealm } from './simulated.realm.js';
import { provideStreams } from './streams.effects.js';
import { SITES, type UpSettings } from './up.settings.js';

const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export interface Watcher {
  /** One step of the start is done. */
  readonly onStep: (title: string, durationMs: number) => void;
  /** Something that the user should know at once. */
  readonly onNotice: (sentence: string) => void;
  /** A program entered a state. */
  readonly onState: (name: string, state: ReplicaState) => void;
}

export interface RunningInstance {
  readonly instance: Instance;
  readonly site: SiteAccess;
  /** undefined: the installation was never handed over. */
  readonly handover: HandoverRecord | undefined;
  /** Starts the programs that the API does not need: what requests begin waits in the log for them. Resolves when all serve. */
  complete(): Promise<void>;
  /**
   * Ends everything, in good order. After `fast` aborts, programs are not asked any more. Real hosts are machines of their own: they go on,
   * unless `withHosts`. Answers with a sentence on what still runs, if anything does.
   */
  stop(fast: AbortSignal, withHosts: boolean): Promise<string | undefined>;
}

/** Starts what the API of an instance needs; when something does not come up, ends what did and throws. */
export const startInstance = async (
  settings: UpSettings,
  env: NodeJS.ProcessEnv,
  watcher: Watcher,
  interrupted: AbortSignal,
): Promise<RunningInstance> => {
  refuseRunning(settings.dataDir);
  prepareDataFolder(settings.dataDir); // Refused before anything else is made in it.
  await refuseTakenPort(settings.port);
  const localHosts =
    SITES[settings.provider].hosts === 'local' ? await prepareLocalHosts(settings, env, watcher) : undefined;
  const slow = new SlowStarts(watcher);
  const programs = new Supervisor({ dataDir: settings.dataDir, runName: 'programs', onState: slow.hear });
  const ended = new AbortController();
  const servers: { environment?: Environment } = {};
  const starting = new Starting(programs, { env, slow, ended: ended.signal, excuse: () => excuseOf(servers) });
  let natsIsBack = (): void => undefined;
  const owned = (): void => starting.load(serviceProgram('gateway', CHECKOUT));
  const back = (): void => natsIsBack();
  const environment = await startServers(settings, env, { watcher, localHosts, owned, back }).catch(
    async (error: unknown) => {
      ended.abort();
      await programs.stop();
      throw error;
    },
  );
  servers.environment = environment;
  const streams = () => provideStreams(environment.nats, settings.dataDir, settings.replicas);
  const stop = async (fast: AbortSignal, withHosts: boolean): Promise<string | undefined> => {
    ended.abort();
    await stopAll(settings, programs, environment, fast);
    return localHosts?.release(withHosts);
  };
  try {
    interrupted.throwIfAborted();
    const provided = await timed(watcher, 'Streams', streams);
    storeLines(provided.stores).forEach(watcher.onNotice);
    const handover = refuseInactive(provided.handover);
    // A stream in memory is gone with the server that held it.
    natsIsBack = () => void streamsAgain(async () => void (await streams()), watcher.onNotice, ended.signal);
    const keys = ensureKeys(settings.dataDir);
    const [labPort = 0, identityPort = 0] = await freePorts(`${settings.dataDir}/lab`, 2);
    const plans = plansOf(settings, environment, {
      ...{ keys, authorityFile: await authorityOf(settings) },
      lab: hasTakenOver(handover) ? undefined : labOf(settings, { port: labPort, identityPort, token: keys.labToken }),
    });
    const { services, waiting } = servicesOf(startedOf(settings, plans), handover);
    const token = new LocalTokenWatch(keys.localTokenFile);
    const start = starterOf(services, starting, watcher);
    const api = start((name) => name === 'gateway');
    const lab = start((name) => name === 'lab', 'Lab (simulated hosts)');
    await unlessAborted(api, interrupted);
    token.tell(watcher.onNotice);
    return {
      instance: instanceOf(settings, keys.localTokenFile, environment.nats.url),
      site: siteOf(localHosts, { endpoint: `http://${LOOPBACK}:${labPort}`, token: keys.labToken, ready: lab }),
      handover,
      complete: async () => {
        starting.waiting(waiting).catch(noticeUnless(ended.signal, watcher)); // They wait for as long as it takes, and say so.
        const others = start((name) => name !== 'gateway' && name !== 'lab');
        await unlessAborted(Promise.all([lab, others]), interrupted);
      },
      stop,
    };
  } catch (error) {
    watcher.onNotice('Stopping ...');
    await stop(AbortSignal.abort(), false);
    throw error;
  }
};

interface ServersWatcher {
  readonly watcher: Watcher;
  readonly localHosts: LocalHosts | undefined;
  /** The data folder is ours, and its servers are not started yet. */
  readonly owned: () => void;
  /** NATS runs, or runs again. */
  readonly back: () => void;
}

const startServers = (
  settings: UpSettings,
  env: NodeJS.ProcessEnv,
  { watcher, localHosts, owned, back }: ServersWatcher,
): Promise<Environment> =>
  timed(watcher, 'NATS and PostgreSQL', () =>
    startEnvironment({
      dataDir: settings.dataDir,
      env,
      log: watcher.onNotice,
      ...natsHostOf(settings, localHosts),
      onOwned: owned,
      onState: (name, state) => {
        watcher.onState(name, state);
        if (name === NATS_PROCESS && state.status === 'running') back();
      },
    }),
  );

const authorityOf = async ({ publish, dataDir }: UpSettings): Promise<string> =>
  publish === undefined ? '' : ensureTunnelAuthority(dataDir);

interface Given extends Pick<Surroundings, 'lab'> {
  readonly keys: InstanceKeys;
  /** Of the tunnel; empty: it does not run. */
  readonly authorityFile: string;
}

const plansOf = (
  settings: UpSettings,
  { nats, databases }: Environment,
  { keys, authorityFile, lab }: Given,
): readonly ProgramPlan[] =>
  planPrograms({
    checkout: CHECKOUT,
    nodeBinary: process.execPath,
    dataDir: settings.dataDir,
    nats,
    databases,
    masterKeyFile: keys.masterKeyFile,
    localTokenFile: keys.localTokenFile,
    gatewayPort: settings.port,
    helmProgram: findHelm(process.env),
    http: settings.http,
    tunnel:
      settings.publish === undefined
        ? undefined
        : {
            ...{ ...settings.publish, authorityFile },
            ...{ keyFile: keys.tunnelKeyFile, publicKeyFile: keys.tunnelPublicKeyFile },
          },
    lab,
  });

/** What a slow start is due to, if NATS or PostgreSQL is down; undefined also before both have started. */
const excuseOf = ({ environment }: { readonly environment?: Environment }): string | undefined =>
  environment === undefined ? undefined : downOf(environment.supervisor);

/** Its machines are those of the installation that it has taken over; a lab of its own has none of them. */
const hasTakenOver = (handover: HandoverRecord | undefined): boolean => handover?.state === 'active';

/** Starts the programs whose names the predicate accepts. */
type Start = (isMeant: (name: ProgramName) => boolean, title?: string) => Promise<void>;

const starterOf =
  (plans: readonly ProgramPlan[], starting: Starting, watcher: Watcher): Start =>
  (isMeant, title) => {
    const meant = plans.filter(({ name }) => isMeant(name));
    if (meant.length === 0) return Promise.resolve();
    const started = timed(watcher, title ?? meant.map(({ name }) => name).join(', '), () => starting.all(meant));
    started.catch(() => undefined); // Whoever waits for it gets the error.
    return started;
  };

/** In an installation that is handed over, only the gateway serves, and the lab; until that is for good, the others wait for its cancellation. */
const servicesOf = (
  plans: readonly ProgramPlan[],
  handover: HandoverRecord | undefined,
): { readonly services: readonly ProgramPlan[]; readonly waiting: readonly ProgramPlan[] } => {
  if (!isSource(handover)) return { services: plans, waiting: [] };
  const serves = ({ name }: ProgramPlan): boolean => name === 'gateway' || name === 'lab';
  return {
    services: plans.filter(serves),
    waiting: handover.state === 'fenced' ? plans.filter((plan) => !serves(plan)) : [],
  };
};

/** Nothing could be served: not even a token can be recorded. */
const refuseInactive = (handover: HandoverRecord | undefined): HandoverRecord | undefined => {
  if (handover === undefined || holdsLog(handover) || isSource(handover)) return handover;
  throw new CliFailure('conflict', {
    code: 'cli.handover-not-active',
    message: `The installation cannot start yet: ${handoverWords(handover)}`,
    help: 'See docs/handover.md.',
  });
};

/** All but the service that its developer starts, whose environment is written to a file. */
const startedOf = ({ dataDir, without }: UpSettings, plans: readonly ProgramPlan[]): readonly ProgramPlan[] => {
  const plan = plans.find(({ name }) => name === without);
  if (without !== undefined && plan !== undefined) writeEnvFile(dataDir, without, plan);
  return plans.filter((one) => one !== plan);
};

const labOf = (
  { provider, delays, light }: UpSettings,
  at: { readonly port: number; readonly identityPort: number; readonly token: string },
): Surroundings['lab'] => (SITES[provider].hosts === 'lab' ? { ...at, delays, light } : undefined);

/** Hosts of other machines must reach NATS, and local ones do so on their own network. */
const natsHostOf = (
  { natsAddress, natsWebsocketPort }: UpSettings,
  hosts: LocalHosts | undefined,
): { readonly natsHost?: string; readonly natsWebsocketPort?: number } => {
  const address = natsAddress ?? hosts?.address;
  return {
    ...(address === undefined ? {} : { natsHost: address }),
    ...(natsWebsocketPort === undefined ? {} : { natsWebsocketPort }),
  };
};

const siteOf = (
  hosts: LocalHosts | undefined,
  lab: { readonly endpoint: string; readonly token: string; readonly ready: Promise<void> },
): SiteAccess =>
  hosts === undefined
    ? {
        provider: 'lab',
        settings: { endpoint: lab.endpoint },
        token: lab.token,
        ready: lab.ready,
        realm: () => simulatedRealm(lab),
      }
    : { provider: 'nspawn', settings: hosts.settings, ready: Promise.resolve() };

/** Does not wait for work whose result is no longer needed. */
const unlessAborted = async <Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> => {
  signal.throwIfAborted();
  const watching = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const refuse = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', refuse, { once: true, signal: watching.signal });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    watching.abort();
    work.catch(() => undefined); // It ends by our stopping what it waits for.
  }
};

/** Said before the port is looked at, which the running one has. */
const refuseRunning = (dataDir: string): void => {
  const running = readInstance(dataDir);
  if (running === undefined || !isAlive(running.process)) return;
  throw new CliFailure('conflict', {
    code: 'cli.already-running',
    message: `Fairlead is already running in ${dataDir}: ${running.server}, process ${running.process.pid}`,
    help: 'Use that one, stop it with "fairlead down", or choose another folder with --data and another --port.',
  });
};

const refuseTakenPort = async (port: number): Promise<void> => {
  if (await isPortFree(port)) return;
  throw new CliFailure('conflict', {
    code: 'cli.port-taken',
    message: `Port ${port} on ${LOOPBACK}, the port of the REST API, is in use by another program`,
    help: `Choose another one with --port, or stop that program (ss -ltnp 'sport = :${port}' names it). If it is a Fairlead: fairlead down.`,
  });
};

const timed = async <Result>({ onStep }: Watcher, title: string, work: () => Promise<Result>): Promise<Result> => {
  const startedAtMs = performance.now();
  const result = await work();
  onStep(title, performance.now() - startedAtMs);
  return result;
};

/** Reports the failure, unless it follows from the end of the instance. */
const noticeUnless =
  (ended: AbortSignal, { onNotice }: Watcher) =>
  (error: unknown): void => {
    if (!ended.aborted) onNotice(wordsOf(error));
  };

/** By which commands on this machine call it; the certificate must carry it. */
const addressOf = ({ port, http: { address, tls } }: UpSettings): string => {
  const host = ANY_ADDRESS.has(address) ? LOOPBACK : address;
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

const instanceOf = (settings: UpSettings, tokenFile: string, natsUrl: string): Instance => ({
  format: 1,
  server: addressOf(settings),
  tokenFile,
  ...(settings.http.tls?.caFile === undefined ? {} : { caFile: settings.http.tls.caFile }),
  dataDir: settings.dataDir,
  natsUrl,
  process: { pid: process.pid, birth: identityOf(process.pid)?.birth ?? null },
  startedAt: new Date().toISOString(),
  version: VERSION,
});

const stopAll = async (
  { dataDir, without }: UpSettings,
  programs: Supervisor,
  environment: Environment,
  fast: AbortSignal,
): Promise<void> => {
  removeInstance(dataDir);
  if (without !== undefined) removeEnvFile(dataDir, without);
  const hurry = (): void => {
    for (const { name, pid } of programs.status()) if (pid !== undefined) programs.kill(name, 'SIGKILL');
  };
  fast.addEventListener('abort', hurry);
  try {
    const names = programs.status().map(({ name }) => name);
    const stops = names.map((name) => programs.hold(name, fast.aborted ? 'SIGKILL' : undefined));
    await Promise.allSettled(stops);
    await programs.stop();
  } finally {
    fast.removeEventListener('abort', hurry);
    await environment.stop();
  }
};

/** The log of a program, for a sentence. */
export const logFileOf = (dataDir: string, program: string): string => join(dataDir, 'logs', `${program}.log`);
