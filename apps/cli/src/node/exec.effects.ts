import { CONTROL_PLANE_POOL, EXEC_LIMITS } from '@fairlead/contracts';
import pLimit from 'p-limit';
import type { ClusterAt, NodeExecView } from '../api/views.js';
import type { Session } from '../command/session.js';
import { failureText } from '../failure.text.js';
import { AnsweredExit, CliFailure } from '../failures.js';
import { exitCodeOf } from '../exit-codes.js';
import type { CommandOutput } from '../output/format.js';
import { noneSelected, queryOf, refuseUnknownPools, type SelectionOptions } from './action.options.js';

/** Shorter than the timeout of a request. */
const WAIT_SECONDS = 30;
/** Longer than the longest command. */
const WAITS_MAX = EXEC_LIMITS.timeoutSeconds.max / WAIT_SECONDS + 10;

export const TRUNCATED = `Only the first ${EXEC_LIMITS.outputBytes / 1_024} KiB of each of standard output and standard error were kept.\n`;

interface ExecRequest {
  readonly command: readonly string[];
  readonly timeoutSeconds?: number;
}

/** Ctrl-C ends the wait, not the command. */
export const runOnNode = async (
  session: Session,
  at: ClusterAt,
  node: string,
  request: ExecRequest,
): Promise<NodeExecView> => {
  try {
    let { data: view } = await session.api.post(
      '/ns/{namespace}/clusters/{cluster}/nodes/{node}/exec',
      { ...at, node },
      { body: request, waitSeconds: WAIT_SECONDS },
    );
    for (let waits = 0; view.state === 'running' && waits < WAITS_MAX; waits += 1)
      view = await session.api.get(
        '/ns/{namespace}/clusters/{cluster}/nodes/{node}/exec/{execution}',
        { ...at, node, execution: view.id },
        { waitSeconds: WAIT_SECONDS },
      );
    return view;
  } catch (error) {
    if (!session.io.interrupts.first.aborted) throw error;
    throw new CliFailure('interrupted', {
      code: 'cli.interrupted',
      message: `The command continues on ${node} until it ends or its time is up`,
      help: `"fairlead events ${at.cluster} --node ${node}" shows how it ends.`,
      cause: error,
    });
  }
};

export interface ExecOutcome {
  readonly exitCode: number;
  readonly truncated: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

/** Throws a `CliFailure` if the outcome of the command is unknown. */
export const outcomeOf = ({ state, exitCode, truncated, message, node, stdout, stderr }: NodeExecView): ExecOutcome => {
  if (state === 'failed')
    throw new CliFailure('failed', {
      code: 'cli.exec-failed',
      message,
      help: 'Check what it did before you run it again.',
    });
  if (exitCode === null)
    throw new CliFailure('timed-out', { code: 'cli.timed-out', message: `The command on ${node} has not ended` });
  return { exitCode, truncated, stdout: textOf(stdout), stderr: textOf(stderr) };
};

/** The names of the selected nodes; an empty selection is a failure. */
export const selectedNodes = async (
  session: Session,
  at: ClusterAt,
  options: SelectionOptions,
): Promise<readonly string[]> => {
  const { pool: pools } = options;
  const nodes = await session.api.list('/ns/{namespace}/clusters/{cluster}/nodes', at, {
    query: queryOf(options),
  });
  if (nodes.length > 0) return nodes.map(({ name }) => name);
  await refuseUnknownPools(session, at, pools);
  const message =
    options.all === true ? `${at.cluster} has no nodes` : noneSelected(at.cluster, options).replace(/\.$/, '');
  const help = `"fairlead node list ${at.cluster}" shows its nodes; the control planes are the pool ${CONTROL_PLANE_POOL}.`;
  throw new CliFailure('not-found', { code: 'node.none-selected', message, help });
};

interface NodeResult {
  readonly node: string;
  readonly outcome: ExecOutcome | undefined;
  readonly failure: CliFailure | undefined;
}

/** A failure on one node does not affect the others. */
const resultOn = async (session: Session, at: ClusterAt, node: string, request: ExecRequest): Promise<NodeResult> => {
  try {
    return { node, outcome: outcomeOf(await runOnNode(session, at, node, request)), failure: undefined };
  } catch (error) {
    if (!(error instanceof CliFailure) || error.exit === 'unauthorised' || error.exit === 'interrupted') throw error;
    return { node, outcome: undefined, failure: error };
  }
};

/** Prefixes each line with the name of its node. */
const prefixed = (node: string, text: string): string =>
  text === ''
    ? ''
    : `${text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => `${node}: ${line}`)
        .join('\n')}\n`;

const printResult = ({ io, format }: Session, { node, outcome, failure }: NodeResult): void => {
  if (failure !== undefined) return io.err(prefixed(node, failureText(failure, io.colors)));
  if (format !== 'table' || outcome === undefined) return;
  const { stdout, stderr, truncated, exitCode } = outcome;
  io.out(prefixed(node, stdout));
  io.err(prefixed(node, `${stderr}${truncated ? TRUNCATED : ''}`));
  if (exitCode !== 0) io.err(`${node}: exit code ${exitCode}\n`);
};

const exitOf = (results: readonly NodeResult[]): number =>
  Math.max(...results.map(({ outcome, failure }) => outcome?.exitCode ?? exitCodeOf(failure?.exit ?? 'failed')));

interface OnNodes {
  readonly request: ExecRequest;
  /** The number of nodes in parallel. */
  readonly parallel: number;
}

/**
 * Runs a command on several nodes and prints the output of each when it has ended. The exit code is the highest one.
 */
export const execOnNodes = async (
  session: Session,
  at: ClusterAt,
  nodes: readonly string[],
  { request, parallel }: OnNodes,
): Promise<CommandOutput> => {
  const limit = pLimit(parallel);
  const results: NodeResult[] = [];
  const one = async (node: string): Promise<void> => {
    const result = await resultOn(session, at, node, request).catch((error: unknown) => {
      limit.clearQueue(); // No further commands are started.
      throw error;
    });
    printResult(session, result);
    results.push(result);
  };
  await Promise.all([...new Set(nodes)].map((node) => limit(one, node)));
  return answerOf(session, results);
};

const answerOf = ({ format }: Session, results: readonly NodeResult[]): CommandOutput => {
  const exit = exitOf(results);
  if (format === 'table') throw new AnsweredExit(exit);
  const items = results.map(({ node, outcome, failure }) => ({
    node,
    ...(outcome ?? { exitCode: null, error: { code: failure?.code, message: failure?.message } }),
  }));
  return { data: { kind: 'NodeExecList', items }, table: '', names: results.map(({ node }) => node), exit };
};
