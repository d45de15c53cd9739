import {
  EXEC_LIMITS,
  ExecOutput,
  refuse,
  sentenceOf,
  type NodeExecView,
  type NodePath,
  type StoredEvent,
} from '@fairlead/contracts';
import { memberOf, type EndedExecution } from '@fairlead/domain';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { parseJson } from '@fairlead/parsers';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { causeOf, type Caller } from '../http/caller.js';
import { LogFollower, type Patience } from '../http/log.follower.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { mayEverywhere } from '../access/identity.js';
import { ConnectionQueries } from '../connections/connections.queries.js';
import { executions, type RequestExec } from './executions.decider.js';

/** As much as is kept of what a command prints, twice, in JSON. */
const OUTPUT_LENGTH_MAX = 16 * 1_048_576;

export const parseOutput = (text: string): ExecOutput =>
  ExecOutput.parse(parseJson(text, { lengthMax: OUTPUT_LENGTH_MAX }));

/** What is asked for, and for how long the caller waits for its end. */
export type ExecRequest = Pick<RequestExec['data'], 'purpose' | 'command' | 'timeoutSeconds'>;

export interface Shown {
  readonly view: NodeExecView;
  /** Where in the log what it shows is on record. */
  readonly seq: number;
}

const endsExec =
  (requestId: string) =>
  (event: StoredEvent): boolean =>
    ((event.type === 'NodeExecFinished' || event.type === 'NodeExecFailed') && event.data.requestId === requestId) ||
    event.type === 'ClusterDeletionRequested';

const running = (id: string, node: string): NodeExecView => ({
  kind: 'NodeExec',
  id,
  node,
  state: 'running',
  exitCode: null,
  stdout: '',
  stderr: '',
  truncated: false,
  tookMs: null,
  message: '',
});

/** Commands on nodes: requested in the log, carried out by bootstrap-svc, and their output read from where it is sealed. */
@Injectable()
export class Executions {
  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(LogFollower) private readonly follower: LogFollower,
    @Inject(ConnectionQueries) private readonly connections: ConnectionQueries,
  ) {}

  async ask(path: NodePath, asked: ExecRequest, caller: Caller, waitMs: number): Promise<Shown> {
    const { namespace, cluster, node } = path;
    const requestId = caller.commandId ?? randomUUID();
    if (asked.purpose === 'exec' && !mayEverywhere(caller.identity, 'admin')) await this.refuseSimulated(path);
    const stream = { namespace, cluster, context: 'audit' };
    const command: RequestExec = { type: 'RequestExec', data: { ...path, ...asked, requestId } };
    const { seq } = unwrap(await this.handle(executions, stream, command, causeOf(caller)));
    return this.shown({ namespace, cluster, node }, requestId, seq, { waitMs, signal: caller.signal });
  }

  /** How far it is, once it has ended or the time to wait is over. */
  async look(path: NodePath, requestId: string, caller: Caller, waitMs: number): Promise<Shown> {
    return this.shown(path, requestId, 0, { waitMs, signal: caller.signal });
  }

  private async shown(path: NodePath, requestId: string, afterSeq: number, patience: Patience): Promise<Shown> {
    const { namespace, cluster, node } = path;
    const before = await this.read(path, requestId);
    if (before.ended !== undefined) return { view: await this.viewOf(path, requestId, before.ended), seq: before.seq };
    if (!before.isOpen) throw this.unknown(path, requestId);
    const since = Math.max(afterSeq, before.seq);
    const awaited = { namespace, cluster, afterSeq: since, isOver: endsExec(requestId) };
    const event = patience.waitMs === 0 ? undefined : await this.follower.wait(awaited, patience);
    if (event === undefined) return { view: running(requestId, node), seq: since };
    const { ended, seq } = await this.read(path, requestId);
    if (ended === undefined) throw this.unknown(path, requestId);
    return { view: await this.viewOf(path, requestId, ended), seq };
  }

  /** The shell of a simulated host is a process of the user that Fairlead runs as, and reads the keys of the installation. */
  private async refuseSimulated(path: NodePath): Promise<void> {
    const { state } = await this.recorded(path, randomUUID());
    const { cluster } = state;
    const node = cluster === undefined ? undefined : memberOf(cluster.nodes, path.node);
    if (node !== undefined && (await this.connections.isSimulated(node.connection)))
      throw new RefusalError(refuse('node.exec-simulated', { node: path.node }));
  }

  /** From the log: the rows need not know of it yet. */
  private async recorded({ namespace, cluster }: NodePath, requestId: string) {
    return unwrap(
      await this.handle(
        executions,
        { namespace, cluster, context: 'audit' },
        { type: 'ReadExecutions', data: { namespace, cluster } },
        { actor: 'system/gateway', correlationId: `exec/${requestId}`, causationId: `exec/${requestId}` },
      ),
    );
  }

  private async read(path: NodePath, requestId: string) {
    const { namespace, cluster, node } = path;
    const { state, seq } = await this.recorded(path, requestId);
    if (state.cluster === undefined) throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    const open = state.executions?.open[requestId];
    const ended = state.executions?.ended[requestId];
    return { seq, isOpen: open?.node === node, ended: ended?.node === node ? ended : undefined };
  }

  private async viewOf(path: NodePath, id: string, ended: EndedExecution): Promise<NodeExecView> {
    const view = running(id, path.node);
    if (ended.outcome === 'failed') return { ...view, state: 'failed', message: sentenceOf(ended.cause) };
    const text = await this.secrets.get(ended.outputRef);
    if (text === undefined) throw this.unknown(path, id);
    const { stdout, stderr } = parseOutput(text);
    const { exitCode, truncated, tookMs } = ended;
    return { ...view, state: 'finished', exitCode, stdout, stderr, truncated, tookMs };
  }

  private unknown({ namespace, cluster }: NodePath, execution: string): RefusalError {
    return new RefusalError(
      refuse('node.exec-unknown', { namespace, cluster, execution, seconds: EXEC_LIMITS.keptSeconds }),
    );
  }
}
