import { existsSync, readdirSync, statSync } from 'node:fs';
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
  RESTART_POLICY,
  startEnvironment,
  Supervisor,
  type Environment,
  type ProcessSpec,
  type ReplicaState,
} from '@fairlead/embedded';
import { CliFailure } from '../failures.js';
import { CHECKOUT } from '../checkout.js';
import { readInstance, removeInstance, type Instance } from '../instance/instance.store.js';
import { VERSION } from '../version.js';
import { removeEnvFile, writeEnvFile } from './env-file.store.js';
import { ensureKeys } from './keys.store.js';
import { isReadyLine, planPrograms, waitsFor, type ProgramPlan, type Surroundings } from './programs.planner.js';
import { prepareLocalHosts, type LocalHosts } from './local-hosts.effects.js';
import { LocalTokenWatch } from './local-token.effects.js';
import { downOf, SlowStarts, streamsAgain } from './outages.effects.js';
import type { SiteAccess } from './registration.effects.js';
import { provideStreams } from './streams.effects.js';
import type { UpSettings } from './up.settings.js';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** What of this process' environment the programs must not see: it is meant for the CLI itself, or set for each of them. */
const OWN_VARIABLES = [
  'FAIRLEAD_TOKEN',
  'FAIRLEAD_SERVER',
  'NATS_URL',
  'NATS_CA_FILE',
  'NATS_CREDS',
  'NATS_CREDS_DIR',
  'DATABASE_URL',
  'FAIRLEAD_CA_FILE',
  'HOST',
  'HTTP_PLAIN_TEXT',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'PORT',
  'NODE_OPTIONS',
];

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
  /**
   * Ends everything, in good order. After `fast` aborts, programs are not asked any more. Real hosts are machines of their own: they go on,
   * unless `withHosts`. Answers with a sentence on what still runs, if anything does.
   */
  stop(fast: AbortSignal, withHosts: boolean): Promise<string | undefined>;
}

/** Starts everything that an instance is; when something does not come up, ends what did and throws. */
export const startInstance = async (
  settings: UpSettings,
  env: NodeJS.ProcessEnv,
  watcher: Watcher,
  interrupted: AbortSignal,
): Promise<RunningInstance> => {
  refuseRunning(settings.dataDir);
  prepareDataFolder(settings.dataDir); // Refused before anything else is made in it.
  await refuseTakenPort(settings.port);
  const localHosts = settings.provider === 'nspawn' ? await prepareLocalHosts(settings, env, watcher) : undefined;
  let natsIsBack = (): void => undefined;
  const environment = await timed(watcher, 'NATS and PostgreSQL', () =>
    startEnvironment({
      dataDir: settings.dataDir,
      env,
      log: watcher.onNotice,
      ...natsHostOf(settings, localHosts),
      onState: (name, state) => {
        watcher.onState(name, state);
        if (name === NATS_PROCESS && state.status === 'running') natsIsBack();
      },
    }),
  );
  const slow = new SlowStarts(watcher);
  const programs = new Supervisor({ dataDir: settings.dataDir, runName: 'programs', onState: slow.hear });
  const ended = new AbortController();
  const streams = () => provideStreams(environment.nats, settings.dataDir);
  const stop = async (fast: AbortSignal, withHosts: boolean): Promise<string | undefined> => {
    ended.abort();
    await stopAll(settings, programs, environment, fast);
    return localHosts?.release(withHosts);
  };
  try {
    interrupted.throwIfAborted();
    const handover = refuseInactive(await timed(watcher, 'Streams', streams));
    // A stream in memory is gone with the server that held it.
    natsIsBack = () => void streamsAgain(async () => void (await streams()), watcher.onNotice, ended.signal);
    const keys = ensureKeys(settings.dataDir);
    const [labPort = 0] = await freePorts(`${settings.dataDir}/lab`, 1);
    const plans = planPrograms({
      checkout: CHECKOUT,
      nodeBinary: process.execPath,
      dataDir: settings.dataDir,
      nats: environment.nats,
      databases: environment.databases,
      masterKeyFile: keys.masterKeyFile,
      localTokenFile: keys.localTokenFile,
      gatewayPort: settings.port,
      http: settings.http,
      lab: hasTakenOver(handover) ? undefined : labOf(settings, labPort, keys.labToken),
    });
    const starting = new Starting(programs, env, { slow, excuse: () => downOf(environment.supervisor) });
    const { services, waiting } = servicesOf(startedOf(settings, plans), handover);
    starting.all(waiting).catch(noticeUnless(ended.signal, watcher)); // They wait for as long as it takes, and say so.
    const token = new LocalTokenWatch(keys.localTokenFile);
    await timed(watcher, services.map(({ name }) => name).join(', '), () =>
      unlessAborted(starting.all(services), interrupted),
    );
    token.tell(watcher.onNotice);
    // Whoever has a cluster here already waits for the services only.
    const lab = plans.filter(({ name }) => name === 'lab');
    const ready =
      lab.length === 0 ? Promise.resolve() : timed(watcher, 'Lab (simulated hosts)', () => starting.all(lab));
    ready.catch(() => undefined); // Whoever waits for it gets the error.
    const site = siteOf(localHosts, { endpoint: `http://${LOOPBACK}:${labPort}`, token: keys.labToken, ready });
    return { instance: instanceOf(settings, keys.localTokenFile, environment.nats.url), site, handover, stop };
  } catch (error) {
    watcher.onNotice('Stopping ...');
    await stop(AbortSignal.abort(), false);
    throw error;
  }
};

/** Its machines are those of the installation that it has taken over; a lab of its own has none of them. */
const hasTakenOver = (handover: HandoverRecord | undefined): boolean => handover?.state === 'active';

/** In an installation that is handed over, only the gateway serves; until that is for good, the others wait for its cancellation. */
const servicesOf = (
  plans: readonly ProgramPlan[],
  handover: HandoverRecord | undefined,
): { readonly services: readonly ProgramPlan[]; readonly waiting: readonly ProgramPlan[] } => {
  const all = plans.filter(({ name }) => name !== 'lab');
  if (!isSource(handover)) return { services: all, waiting: [] };
  const others = all.filter(({ name }) => name !== 'gateway');
  return {
    services: all.filter(({ name }) => name === 'gateway'),
    waiting: handover.state === 'fenced' ? others : [],
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

const labOf = ({ provider, delays, light }: UpSettings, port: number, token: string): Surroundings['lab'] =>
  provider === 'lab' ? { port, token, delays, light } : undefined;

/** Hosts of other machines must reach NATS, and local ones do so on their own network. */
const natsHostOf = ({ natsAddress }: UpSettings, hosts: LocalHosts | undefined): { readonly natsHost?: string } => {
  const address = natsAddress ?? hosts?.address;
  return address === undefined ? {} : { natsHost: address };
};

const siteOf = (
  hosts: LocalHosts | undefined,
  lab: { readonly endpoint: string; readonly token: string; readonly ready: Promise<void> },
): SiteAccess =>
  hosts === undefined
    ? { provider: 'lab', settings: { endpoint: lab.endpoint }, token: lab.token, ready: lab.ready }
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

/** Starts programs: those that are given together all at once, because they wait for each other by themselves. */
class Starting {
  private readonly compiledAtMs = lastCompilationMs(CHECKOUT);

  constructor(
    private readonly supervisor: Supervisor,
    private readonly env: NodeJS.ProcessEnv,
    private readonly help: { readonly slow: SlowStarts; readonly excuse: () => string | undefined },
  ) {}

  /** Resolves when each is ready; waits for the others also when one fails, so that it is known what there is to stop. */
  async all(plans: readonly ProgramPlan[]): Promise<void> {
    const results = await Promise.allSettled(plans.map((plan) => this.one(plan)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  private async one(plan: ProgramPlan): Promise<void> {
    const entry = entryOf(plan, this.compiledAtMs);
    if (entry === undefined) throw notBuilt(plan);
    const mustStart = plan.name === 'gateway' || plan.name === 'lab';
    const started = this.supervisor.start({
      name: plan.name,
      ...commandOf(plan, [process.execPath, entry, ...plan.args]),
      env: { ...withoutOwn(this.env), ...plan.env },
      ready: (line) => isReadyLine(plan.name, line),
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
      waitsFor: (line) => waitsFor(plan.name, line),
      excuse: this.help.excuse,
      ...(mustStart ? {} : { restart: { ...RESTART_POLICY, startTriesMax: Infinity } }),
    });
    await (mustStart ? started : this.help.slow.unlessSlow(plan.name, started));
  }
}

const commandOf = ({ niceness }: ProgramPlan, words: readonly string[]): Pick<ProcessSpec, 'command' | 'args'> => {
  const [command = '', ...args] = niceness === 0 ? words : ['nice', '-n', String(niceness), ...words];
  return { command, args };
};

const notBuilt = ({ name, main }: ProgramPlan): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.not-built',
    message: `${name} is not built: there is no ${main}`,
    help: 'Build it with "npm run build"; "npm start" does so by itself.',
  });

/** A bundle from before the last compilation would run old code. */
const entryOf = ({ bundle, main }: ProgramPlan, compiledAtMs: number): string | undefined =>
  [bundle, main].find((entry) => existsSync(entry) && (entry === main || statSync(entry).mtimeMs >= compiledAtMs));

/** When the compiler last wrote anything, in any project: a bundle is made of several. */
const lastCompilationMs = (checkout: string): number => {
  const projects = ['apps', 'libs'].flatMap((group) =>
    readdirSync(join(checkout, group)).map((name) => join(checkout, group, name)),
  );
  const stamps = projects.map((project) => join(project, 'dist', '.tsbuildinfo')).filter((file) => existsSync(file));
  return Math.max(0, ...stamps.map((file) => statSync(file).mtimeMs));
};

const withoutOwn = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !OWN_VARIABLES.includes(name)));

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
