import { EXEC_LIMITS, LOG_LINES, LOG_UNITS } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { Api, LogEnd, NodeExecView } from '../api/api.ports.js';
import { addCommand, runs } from '../command/command.js';
import { duration, integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { AnsweredExit, CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer, Format } from '../output/format.js';
import { stringify } from 'yaml';

const MS_PER_SECOND = 1_000;
/** Shorter than the time that an answer may take. */
const WAIT_SECONDS = 30;
/** More than the longest command takes. */
const WAITS_MAX = EXEC_LIMITS.timeoutSeconds.max / WAIT_SECONDS + 10;

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

type FollowedLog = ReturnType<Api['followNodeLogs']>;

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
    summary: 'Run a command on a node as root; recorded in the audit log',
    description:
      'Run a command on a node as root, once, print its output, and exit with its exit code. The audit log records the command, who ran it, its exit code, duration and size of output, but not the output; do not put secrets into the command line. The command is not run in a shell (use "sh -c") and has no standard input. Requires the role admin.',
    examples: [
      [
        'fairlead node exec demo demo-w-2-k3x9q -- systemctl status kubelet',
        'Arguments after -- belong to the command',
      ],
      ['fairlead node exec demo demo-w-2-k3x9q -- sh -c "df -h; free"', 'Run a shell on the host'],
      [
        'fairlead node exec demo demo-w-2-k3x9q --output json -- uptime',
        'Print output, exit code and duration as JSON',
      ],
    ],
  })
    .option(
      '--timeout <duration>',
      'stop the command after this time, with exit code 124 (default: 60s; maximum: 10m)',
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
  return shown(session, await finished(session, { cluster, node, command }, timeoutSeconds));
};

/** Ctrl-C ends the wait, not the command. */
const finished = async (
  session: Session,
  { cluster, node, command }: On,
  limits: { readonly timeoutSeconds?: number },
): Promise<NodeExecView> => {
  const at = clusterAt(session, cluster);
  try {
    let view = await session.api.execOnNode(at, node, { command, ...limits }, WAIT_SECONDS);
    for (let waits = 0; view.state === 'running' && waits < WAITS_MAX; waits += 1)
      view = await session.api.nodeExec(at, node, view.id, WAIT_SECONDS);
    return view;
  } catch (error) {
    if (!session.io.interrupts.first.aborted) throw error;
    throw new CliFailure('interrupted', {
      code: 'cli.interrupted',
      message: `The command continues on ${node} until it ends or its time is up`,
      help: `"fairlead events ${cluster} --node ${node}" shows how it ends.`,
      cause: error,
    });
  }
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
  readonly follow?: true;
}

const addLogs = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'logs <cluster> <node>',
    summary: 'Print or follow the log of a unit on a node',
    description:
      'Print the latest lines of the log of a unit on a node. Each read is recorded in the audit log; with --follow, its start and its end are.',
    examples: [
      ['fairlead node logs demo demo-w-2-k3x9q', 'Print the log of the kubelet'],
      [
        'fairlead node logs demo demo-w-2-k3x9q --unit containerd --since 15m',
        'Print the last 15 minutes of another unit',
      ],
      ['fairlead node logs demo demo-w-2-k3x9q --follow --lines 20', 'Print new lines until Ctrl-C'],
    ],
  })
    .addOption(new Option('--unit <unit>', 'which log (default: kubelet)').choices(LOG_UNITS))
    .option(
      '--lines <count>',
      `number of lines to print (default: ${LOG_LINES.default})`,
      integerBetween(1, LOG_LINES.max),
    )
    .option('--since <duration>', 'only entries newer than this, e.g. 15m', duration)
    .option('-f, --follow', 'keep printing new lines, for an hour at most')
    .action(runs(io, logs));
};

const logs = async (
  session: Session,
  cluster: string,
  node: string,
  { unit, lines, since, follow }: LogsOptions,
): Promise<Answer | undefined> => {
  const at = clusterAt(session, cluster);
  const query = {
    ...(unit === undefined ? {} : { unit }),
    ...(lines === undefined ? {} : { lines }),
    ...(since === undefined ? {} : { sinceSeconds: Math.ceil(since / MS_PER_SECOND) }),
  };
  const of = { node, unit: unit ?? 'kubelet' };
  if (follow === true)
    return followed(session, of, session.api.followNodeLogs(at, node, query, session.io.interrupts.first));
  const text = await session.api.nodeLogs(at, node, query);
  return { data: { ...of, lines: text.trimEnd().split('\n') }, table: text, names: [node] };
};

interface Log {
  readonly node: string;
  readonly unit: string;
}

const followed = async ({ io, format }: Session, log: Log, stream: FollowedLog): Promise<undefined> => {
  for (let step = await stream.next(); ; step = await stream.next()) {
    if (step.done === true) return logEnded(io, log, step.value);
    const { text, skipped } = step.value;
    io.out(linesText(text, log, format));
    if (skipped > 0) io.err(`${skipped} lines skipped: the node logs them faster than they can be sent.\n`);
  }
};

/** Each line stands for itself: as text, as a line of JSON, or as a YAML document. */
const linesText = (text: string, log: Log, format: Format): string => {
  const lines = text.split('\n').filter((line) => line !== '');
  switch (format) {
    case 'json':
      return lines.map((line) => `${JSON.stringify({ ...log, line })}\n`).join('');
    case 'yaml':
      return lines.map((line) => `---\n${stringify({ ...log, line })}`).join('');
    case 'table':
    case 'name':
      return text;
  }
};

/** undefined: by Ctrl-C. */
const logEnded = ({ err }: Io, { node }: Log, end: LogEnd | undefined): undefined => {
  if (end === undefined) return undefined;
  const message = `The log of ${node} is no longer followed: ${end.message}`;
  const help = 'Run the command again to go on.';
  if (end.reason !== 'time-limit')
    throw new CliFailure(end.reason === 'stopped' ? 'unreachable' : 'failed', { code: 'cli.log-ended', message, help });
  err(`${message}. ${help}\n`);
  return undefined;
};
