import { EXEC_LIMITS, LOG_LINES, LOG_UNITS } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { NodeExecView } from '../api/api.ports.js';
import { addCommand, runs } from '../command/command.js';
import { duration, integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { AnsweredExit, CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';

const MS_PER_SECOND = 1_000;
/** Shorter than the time that an answer may take. */
const WAIT_SECONDS = 30;
/** More than the longest command takes. */
const WAITS_MAX = EXEC_LIMITS.timeoutSeconds.max / WAIT_SECONDS + 10;

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

interface ExecOptions {
  readonly timeout?: number;
}

/** `exec` and `logs`: what an operator needs of a host, on record. */
export const addExecCommands = (parent: Command, io: Io): void => {
  addExec(parent, io);
  addLogs(parent, io);
};

const addExec = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'exec <cluster> <node> [command...]',
    summary: 'Run a command on a node as root; it is recorded',
    description:
      'Run a command on a node as root, once, and print its output; its exit code is that of this command. Who ran what, when, its exit code, duration and amount of output are recorded, the output is not: the command line must not contain secrets. No shell reads it; give "sh -c" for one. It gets no standard input. Needs the role admin.',
    examples: [
      [
        'fairlead node exec demo demo-w-2-k3x9q -- systemctl status kubelet',
        'After --, nothing is an option of fairlead',
      ],
      ['fairlead node exec demo demo-w-2-k3x9q -- sh -c "df -h; free"', 'With a shell of the host'],
      ['fairlead node exec demo demo-w-2-k3x9q --output json -- uptime', 'Output, exit code and duration as JSON'],
    ],
  })
    .option(
      '--timeout <duration>',
      'end the command after so long, with exit code 124 (default: 60s; at most 10m)',
      duration,
    )
    .action(
      runs(io, (session, cluster: string, ...[node, command, options]: [string, readonly string[], ExecOptions]) =>
        exec(session, { cluster, node, command }, options),
      ),
    );
};

interface On {
  readonly cluster: string;
  readonly node: string;
  readonly command: readonly string[];
}

const exec = async (
  session: Session,
  { cluster, node, command }: On,
  { timeout }: ExecOptions,
): Promise<Answer | undefined> => {
  if (command.length === 0) throw usageFailure('no command is given', 'Give it after --, e.g. -- uptime.');
  const timeoutSeconds = timeout === undefined ? {} : { timeoutSeconds: Math.ceil(timeout / MS_PER_SECOND) };
  const at = clusterAt(session, cluster);
  let view = await session.api.execOnNode(at, node, { command, ...timeoutSeconds }, WAIT_SECONDS);
  for (let waits = 0; view.state === 'running' && waits < WAITS_MAX; waits += 1)
    view = await session.api.nodeExec(at, node, view.id, WAIT_SECONDS);
  return shown(session, view);
};

const shown = ({ io, format }: Session, view: NodeExecView): Answer | undefined => {
  const { state, exitCode, truncated, message, node } = view;
  if (state === 'failed')
    throw new CliFailure('failed', {
      code: 'cli.exec-failed',
      message,
      help: 'Check what it did before you run it again.',
    });
  if (exitCode === null)
    throw new CliFailure('timed-out', { code: 'cli.timed-out', message: `The command on ${node} has not ended` });
  const [stdout, stderr] = [textOf(view.stdout), textOf(view.stderr)];
  if (format !== 'table') return { data: { ...view, stdout, stderr }, table: '', names: [view.id], exit: exitCode };
  io.out(stdout);
  io.err(stderr);
  if (truncated)
    io.err(
      `Only the first ${EXEC_LIMITS.outputBytes / 1_024} KiB of each of standard output and standard error were kept.\n`,
    );
  throw new AnsweredExit(exitCode);
};

interface LogsOptions {
  readonly unit?: string;
  readonly lines?: number;
  readonly since?: number;
}

const addLogs = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'logs <cluster> <node>',
    summary: 'Print the end of the log of a unit on a node',
    description: 'Print the end of the log of a unit on a node. Reading it is recorded.',
    examples: [
      ['fairlead node logs demo demo-w-2-k3x9q', 'Of the kubelet'],
      ['fairlead node logs demo demo-w-2-k3x9q --unit containerd --since 15m', 'Of the last 15 minutes'],
    ],
  })
    .addOption(new Option('--unit <unit>', 'which log (default: kubelet)').choices(LOG_UNITS))
    .option(
      '--lines <count>',
      `the last so many lines (default: ${LOG_LINES.default})`,
      integerBetween(1, LOG_LINES.max),
    )
    .option('--since <duration>', 'only what was logged within this time, e.g. 15m', duration)
    .action(
      runs(io, async (session, cluster: string, node: string, { unit, lines, since }: LogsOptions) => {
        const text = await session.api.nodeLogs(clusterAt(session, cluster), node, {
          ...(unit === undefined ? {} : { unit }),
          ...(lines === undefined ? {} : { lines }),
          ...(since === undefined ? {} : { sinceSeconds: Math.ceil(since / MS_PER_SECOND) }),
        });
        return {
          data: { node, unit: unit ?? 'kubelet', lines: text.trimEnd().split('\n') },
          table: text,
          names: [node],
        };
      }),
    );
};
