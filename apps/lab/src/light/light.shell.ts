import { inputOfSentStep, nameOfSentStep, STEPS, type StepInputs, type StepName } from '@fairlead/node-scripts';
import type { Readable } from 'node:stream';
import type { Stats } from '../stats/stats.js';
import type { HostShell, RunningCall, ShellCall, ShellExit } from '../ssh/host.shell.js';
import { LIGHT_STEPS, StepFault, type LightHost } from './light.steps.js';

const NOT_KNOWN_EXIT_CODE = 127;
/** Limits the input of a command. */
const STDIN_BYTES_MAX = 4 * 1024 * 1024;

interface ShellResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const done = (stdout = ''): ShellResult => ({ code: 0, stdout, stderr: '' });
const failed = (code: number, stderr: string): ShellResult => ({ code, stdout: '', stderr: `${stderr}\n` });

/** The root of a light host is empty, so a path with the variable in front of it is the path itself. */
const withoutRoot = (command: string): string =>
  command.replaceAll('"${FAIRLEAD_ROOT:-}"', '').replaceAll('$FAIRLEAD_ROOT', '');

/** Unwraps commands from `sh -c`, which callers use because the login shell may be a different one. */
const inOwnShell = (command: string): string =>
  /^sh -c '([\s\S]*)'$/.exec(command)?.[1]?.replaceAll("'\\''", "'") ?? command;

const CHECK_COMMAND = /^printf '%s {2}%s\\n' ([0-9a-f]{64}) (\/\S+) \| sha256sum --check --status$/;
const MODE_COMMAND = /^chmod ([0-7]+) (\/\S+)$/;
const MOVE_COMMAND = /^mv -f (\/\S+) (\/\S+)$/;
const REMOVE_COMMAND = /^rm -f (\/\S+)$/;
const PLAIN_COMMAND = /^[a-z][a-z0-9-]*( [A-Za-z0-9_./:=@%+,-]+)*$/;

/**
 * The commands that SSH clients may run on a light host. This is not a shell: it supports steps by name, the commands
 * that install a file, and plain calls of simulated commands, joined by `&&`. Anything else is an unknown command.
 */
export class LightShell implements HostShell {
  private readonly running = new Set<AbortController>();
  /** Steps of one host never overlap, as the lock of their scripts ensures. */
  private lastStep: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly createHost: (signal: AbortSignal) => LightHost,
    private readonly stats: Stats,
  ) {}

  run(call: ShellCall): RunningCall {
    const controller = new AbortController();
    this.running.add(controller);
    return {
      ended: this.carryOut(call, controller).finally(() => this.running.delete(controller)),
      signal: () => controller.abort(),
    };
  }

  killAll(): void {
    for (const controller of this.running) controller.abort();
  }

  private async carryOut(call: ShellCall, controller: AbortController): Promise<ShellExit> {
    const light = this.createHost(controller.signal);
    const answer = await this.answer(light, call, controller.signal);
    if (controller.signal.aborted) return { code: null, signal: 'SIGKILL' };
    if (answer.stdout !== '') call.stdout.write(answer.stdout);
    if (answer.stderr !== '') call.stderr.write(answer.stderr);
    this.stats.commandRan({ machine: light.host.facts.name, command: call.command, exit: answer.code });
    return { code: answer.code, signal: null };
  }

  private async answer(light: LightHost, call: ShellCall, signal: AbortSignal): Promise<ShellResult> {
    const { command, stdin } = call;
    const step = nameOfSentStep(command);
    if (step !== undefined)
      return attempt(light, { what: command, signal, work: () => this.step(light, { name: step, stdin }, signal) });
    let stdout = '';
    for (const clause of withoutRoot(inOwnShell(command)).split(' && ')) {
      const what = clause.trim();
      const answer = await attempt(light, { what, signal, work: () => carryOutClause(light, what) });
      stdout += answer.stdout;
      if (answer.code !== 0) return { ...answer, stdout };
    }
    return done(stdout);
  }

  private async step(light: LightHost, { name, stdin }: SentStep, signal: AbortSignal): Promise<ShellResult> {
    const sent = inputOfSentStep(await textOf(stdin));
    if (sent === undefined) return failed(NOT_KNOWN_EXIT_CODE, `Fairlead lab: ${name} is not a whole step`);
    const answer = this.lastStep.then(() => {
      signal.throwIfAborted();
      return runStep(light, name, sent.input);
    });
    this.lastStep = answer.catch(() => undefined);
    return answer;
  }
}

interface SentStep {
  readonly name: string;
  readonly stdin: Readable;
}

/** Reads the complete input of a command. */
const textOf = (stdin: Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stdin.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= STDIN_BYTES_MAX) chunks.push(chunk);
    });
    stdin.once('end', () =>
      bytes <= STDIN_BYTES_MAX
        ? resolve(Buffer.concat(chunks).toString('utf8'))
        : reject(new StepFault(`it reads no more than ${STDIN_BYTES_MAX} bytes`)),
    );
    stdin.once('close', () => reject(new StepFault('its input was closed')));
  });

interface Attempt {
  readonly what: string;
  readonly signal: AbortSignal;
  readonly work: () => Promise<ShellResult>;
}

/** Any failure becomes the output of the command. */
const attempt = async (light: LightHost, { what, signal, work }: Attempt): Promise<ShellResult> => {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) return failed(1, 'killed');
    if (error instanceof StepFault) return failed(error.exitCode, error.message);
    light.host.log(`${what} broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return failed(1, `Fairlead lab: ${what} broke: ${String(error)}`);
  }
};

const carryOutClause = async (light: LightHost, clause: string): Promise<ShellResult> => {
  const check = CHECK_COMMAND.exec(clause);
  if (check?.[1] !== undefined && check[2] !== undefined) return checkFile(light, check[1], check[2]);
  const mode = MODE_COMMAND.exec(clause);
  if (mode?.[1] !== undefined && mode[2] !== undefined) {
    await light.files.setMode(mode[2], Number.parseInt(mode[1], 8));
    return done();
  }
  const move = MOVE_COMMAND.exec(clause);
  if (move?.[1] !== undefined && move[2] !== undefined) {
    await light.files.rename(move[1], move[2]);
    return done();
  }
  const remove = REMOVE_COMMAND.exec(clause);
  if (remove?.[1] !== undefined) {
    await light.files.removeTree(remove[1]);
    return done();
  }
  if (!PLAIN_COMMAND.test(clause)) {
    return failed(NOT_KNOWN_EXIT_CODE, `a light host of Fairlead lab has no shell and cannot run: ${clause}`);
  }
  const { code, stdout, stderr } = await light.run(...clause.split(' '));
  return { code: code ?? 1, stdout, stderr };
};

/** A step is called as `<step>-<run>`. */
const runStep = async (light: LightHost, name: string, input: unknown): Promise<ShellResult> => {
  const step = STEPS.find((one) => one === name.slice(0, name.lastIndexOf('-')));
  if (step === undefined) return failed(NOT_KNOWN_EXIT_CODE, `Fairlead lab has no step ${name}`);
  const result = await runKnownStep(light, step, input as StepInputs[StepName]);
  return done(`FAIRLEAD-RESULT ${JSON.stringify(result)}\n`);
};

/** The input was rendered for this step by the same version of the library. */
const runKnownStep = <Step extends StepName>(light: LightHost, step: Step, input: unknown): Promise<unknown> =>
  LIGHT_STEPS[step](light, input as StepInputs[Step]);

const checkFile = async ({ files, blobs }: LightHost, sha256: string, path: string): Promise<ShellResult> => {
  const content = files.readBytes(path);
  return content !== undefined && blobs.nameOf(content) === sha256 ? done() : failed(1, '');
};
