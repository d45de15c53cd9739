import { LOG_LINES, LOG_UNITS } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import { followNodeLogs } from '../api/streams.js';

import type { LogEnd } from '@fairlead/api-client';
import type { NodeExecView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { duration, integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { AnsweredExit, CliFailure, stoppedFollowing, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput, Format } from '../output/format.js';
import { stringify } from 'yaml';
import { addSelectionOptions, type SelectionOptions } from './action.options.js';
import { execOnNodes, outcomeOf, runOnNode, selectedNodes, TRUNCATED } from './exec.effects.js';

const MS_PER_SECOND = 1_000;
/** Nodes that run the command in parallel. */
const PARALLEL_DEFAULT = 5;
const PARALLEL_MAX = 50;

type FollowedLog = ReturnType<typeof followNodeLogs>;

interface ExecOptions extends SelectionOptions {
  readonly timeout?: number;
  readonly parallel: number;
}

/** `exec` and `logs`: audited access to hosts for operators. */
export const addExecCommands = (parent: Command, io: Io): void => {
  addExec(parent, io);
  addLogs(parent, io);
};

const addExec = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'exec <cluster> [node] [command...]',
    summary: 'Run a command on nodes as root; recorded in the audit log',
    description:
      'Run a command on a node as root, once, print its output, and exit with its exit code. On several nodes (names separated by commas, --pool, --selector or --all) each line has the name of its node before it, the output of a node is printed when its command has ended, and the exit code is the highest; a node that cannot run it does not keep the others from it. The audit log records the command, who ran it, its exit code, duration and size of output, but not the output; do not put secrets into the command line. The command is not run in a shell (use "sh -c") and has no standard input. Requires the role admin.',
    examples: [
      [
        'fairlead node exec demo demo-w-2-k3x9q -- systemctl status kubelet',
        'Arguments after -- belong to the command',
      ],
      ['fairlead node exec demo demo-w-2-k3x9q -- sh -c "df -h; free"', 'Run a shell on the host'],
      ['fairlead node exec demo --pool web -- uptime', 'Run it on each node of a pool'],
      ['fairlead node exec demo demo-w-2-k3x9q,demo-w-3-p1c7d -- uptime', 'Run it on two nodes'],
      [
        'fairlead node exec demo demo-w-2-k3x9q --output json -- uptime',
        'Print output, exit code and duration as JSON',
      ],
    ],
  });
  addSelectionOptions(command)
    .option(
      '--parallel <count>',
      `number of nodes that run it at a time (at most ${PARALLEL_MAX})`,
      integerBetween(1, PARALLEL_MAX),
      PARALLEL_DEFAULT,
    )
    .option(
      '--timeout <duration>',
      'stop the command after this time, with exit code 124 (default: 60s; maximum: 10m)',
      duration,
    )
    .action(
      runs(
        io,
        (session, cluster: string, ...[node, words, options]: [string | undefined, readonly string[], ExecOptions]) =>
          exec(session, { cluster, node, words }, options),
      ),
    );
};

interface Operands {
  readonly cluster: string;
  readonly node: string | undefined;
  readonly words: readonly string[];
}

const exec = async (
  session: Session,
  { cluster, node, words }: Operands,
  options: ExecOptions,
): Promise<CommandOutput | undefined> => {
  const { pool, selector, all, timeout, parallel } = options;
  const isSelected = pool !== undefined || selector !== undefined || all === true;
  const named = isSelected || node === undefined ? [] : node.split(',').filter((name) => name !== '');
  const command = isSelected && node !== undefined ? [node, ...words] : words;
  if (!isSelected && named.length === 0)
    throw usageFailure('no node is named', 'Name nodes, or give --pool, --selector or --all.');
  if (command.length === 0) throw usageFailure('no command is given', 'Give it after --, e.g. -- uptime.');
  const request = { command, ...(timeout === undefined ? {} : { timeoutSeconds: Math.ceil(timeout / MS_PER_SECOND) }) };
  const at = clusterAt(session, cluster);
  const [first] = named;
  if (first !== undefined && named.length === 1) return shown(session, await runOnNode(session, at, first, request));
  const nodes = isSelected ? await selectedNodes(session, at, options) : named;
  return execOnNodes(session, at, nodes, { request, parallel });
};

const shown = ({ io, format }: Session, view: NodeExecView): CommandOutput | undefined => {
  const { exitCode, truncated, stdout, stderr } = outcomeOf(view);
  if (format !== 'table') return { data: { ...view, stdout, stderr }, table: '', names: [view.id], exit: exitCode };
  io.out(stdout);
  io.err(stderr);
  if (truncated) io.err(TRUNCATED);
  throw new AnsweredExit(exitCode);
};

interface LogsOptions {
  readonly unit?: (typeof LOG_UNITS)[number];
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
): Promise<CommandOutput | undefined> => {
  const at = clusterAt(session, cluster);
  const query = { unit, lines, sinceSeconds: since === undefined ? undefined : Math.ceil(since / MS_PER_SECOND) };
  const of = { node, unit: unit ?? 'kubelet' };
  if (follow === true)
    return followed(session, of, followNodeLogs(session.api, { ...at, node }, query, session.io.interrupts.first));
  const text = await session.api.text(
    '/ns/{namespace}/clusters/{cluster}/nodes/{node}/logs',
    { ...at, node },
    { query },
  );
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

/** Each line is separate: as text, as a line of JSON, or as a YAML document. */
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

/** `end` is undefined if Ctrl-C ended it. */
const logEnded = ({ err }: Io, { node }: Log, end: LogEnd | undefined): undefined => {
  if (end === undefined) throw stoppedFollowing();
  const message = `The log of ${node} is no longer followed: ${end.message}`;
  const help = 'Run the command again to go on.';
  if (end.reason !== 'time-limit')
    throw new CliFailure(end.reason === 'stopped' ? 'unreachable' : 'failed', { code: 'cli.log-ended', message, help });
  err(`${message}. ${help}\n`);
  return undefined;
};
