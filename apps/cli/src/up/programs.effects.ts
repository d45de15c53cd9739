import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { RESTART_POLICY, type ProcessSpec, type Supervisor } from '@fairlead/embedded';
import pLimit from 'p-limit';
import { CHECKOUT } from '../checkout.js';
import { CliFailure } from '../failures.js';
import type { SlowStarts } from './outages.effects.js';
import { isReadyLine, waitsFor, type Program, type ProgramName, type ProgramPlan } from './programs.planner.js';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
/** A start is mostly computing, so more at once than cores only delay those that began first; one alone leaves a core idle while it waits. */
const STARTS_AT_ONCE_MIN = 2;

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
  'FAIRLEAD_ENV',
  'HOST',
  'HTTP_PLAIN_TEXT',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'PORT',
  'NODE_OPTIONS',
];

interface StartingOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly slow: SlowStarts;
  readonly excuse: () => string | undefined;
  /** Once it aborts, nothing more is started. */
  readonly ended: AbortSignal;
}

/** The variables of a program, or those with which it waits for the rest on its standard input. */
interface Variables {
  readonly env: Readonly<Record<string, string>>;
  readonly input?: Promise<string>;
}

/** A program that waits for its variables. */
interface Loaded {
  readonly give: (line: string) => void;
  readonly started: Promise<void>;
}

/** Starts programs in the order in which they are given, as many at once as there are cores: they wait for each other by themselves. */
export class Starting {
  private readonly compiledAtMs = lastCompilationMs(CHECKOUT);
  private readonly turns = pLimit(Math.max(STARTS_AT_ONCE_MIN, availableParallelism()));
  private readonly loaded = new Map<ProgramName, Loaded>();

  constructor(
    private readonly supervisor: Supervisor,
    private readonly options: StartingOptions,
  ) {}

  /** Resolves when each is ready; waits for the others also when one fails, so that it is known what there is to stop. */
  all(plans: readonly ProgramPlan[]): Promise<void> {
    return this.settled(plans.map((plan) => this.turns(() => this.one(plan))));
  }

  /** Programs that may have to wait for days before they are ready: none of the others waits for its turn because of them. */
  waiting(plans: readonly ProgramPlan[]): Promise<void> {
    return this.settled(plans.map((plan) => this.one(plan)));
  }

  /** Starts a program before its plan is known: it loads its code meanwhile, and begins when it is among those that are started. */
  load(program: Program): void {
    let give = (_line: string): void => undefined;
    const input = new Promise<string>((resolve) => (give = resolve));
    const started = this.start(program, { env: { FAIRLEAD_ENV: 'stdin' }, input });
    started.catch(() => undefined); // Whoever starts it gets the error.
    this.loaded.set(program.name, { give, started });
  }

  private async settled(starts: readonly Promise<void>[]): Promise<void> {
    const results = await Promise.allSettled(starts);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  private one(plan: ProgramPlan): Promise<void> {
    const loaded = this.loaded.get(plan.name);
    if (loaded === undefined) return this.start(plan, { env: plan.env });
    loaded.give(JSON.stringify(plan.env));
    return loaded.started;
  }

  private async start(program: Program, variables: Variables): Promise<void> {
    const { env, slow, excuse, ended } = this.options;
    const { name } = program;
    ended.throwIfAborted();
    const entry = entryOf(program, this.compiledAtMs);
    if (entry === undefined) throw notBuilt(program);
    const mustStart = name === 'gateway' || name === 'lab';
    const started = this.supervisor.start({
      name,
      ...commandOf(program, [process.execPath, entry, ...program.args]),
      ...variables,
      env: { ...program.runtime, ...withoutOwn(env), ...variables.env },
      ready: (line) => isReadyLine(name, line),
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
      waitsFor: (line) => waitsFor(name, line),
      excuse,
      ...(mustStart ? {} : { restart: { ...RESTART_POLICY, startTriesMax: Infinity } }),
    });
    await (mustStart ? started : slow.unlessSlow(name, started));
  }
}

const commandOf = ({ niceness }: Program, words: readonly string[]): Pick<ProcessSpec, 'command' | 'args'> => {
  const [command = '', ...args] = niceness === 0 ? words : ['nice', '-n', String(niceness), ...words];
  return { command, args };
};

const notBuilt = ({ name, main }: Program): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.not-built',
    message: `${name} is not built: there is no ${main}`,
    help: 'Build it with "npm run build"; "npm start" does so by itself.',
  });

/** A bundle from before the last compilation would run old code. */
const entryOf = ({ bundle, main }: Program, compiledAtMs: number): string | undefined =>
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
