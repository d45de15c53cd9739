import {
  NodeExecPath,
  NodeExecRequest,
  NodeExecView,
  NodeLogsQuery,
  NodePath,
  refuse,
  type RefusalCode,
} from '@fairlead/contracts';
import { Body, Controller, Get, Header, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { accept, showSeq } from '../http/answers.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases, Documented, WaitHeader } from '../http/documented.js';
import { IDEMPOTENCY_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import type { HttpResponse } from '../http/http.types.js';
import { Executions } from './executions.js';
import { LogStreams } from './log.streams.js';
import { oldestFirst } from './log.text.js';

const LOGS_WITHIN_MS = 30_000;
const LOGS_TIMEOUT_SECONDS = 20;
const MS_PER_SECOND = 1_000;

const REFUSALS: readonly RefusalCode[] = [
  ...OF_CLUSTER,
  'cluster.deleting',
  'node.unknown',
  'node.exec-busy',
  'conflict.concurrent',
];

const logsCommand = ({ unit, lines, sinceSeconds }: NodeLogsQuery): readonly string[] => [
  'journalctl',
  '--no-pager',
  '--output',
  'short-iso',
  '--reverse',
  '--unit',
  unit,
  '--lines',
  String(lines),
  ...(sinceSeconds === undefined ? [] : ['--since', `-${sinceSeconds}s`]),
];

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

@Controller(bothBases('ns/:namespace/clusters/:cluster/nodes/:node'))
export class ExecutionsHttp {
  constructor(
    @Inject(Executions) private readonly executions: Executions,
    @Inject(LogStreams) private readonly streams: LogStreams,
  ) {}

  @Post('exec')
  @WaitHeader()
  @RoleInNamespace('admin')
  @KeyedCommand('sealed')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'execOnNode',
    tag: 'nodes',
    records: 'work',
    summary: 'Run a command on a node as root, once',
    description:
      'The command line, who asked, its exit code, duration and amount of output are recorded; the output is not. It is run at most once; a request that is repeated with the same Idempotency-Key runs nothing again. With Prefer: wait=N the answer has its output if it ends within that time; else ask for it by its id. On simulated hosts, only administrators of all namespaces run commands.',
    answers: [
      { status: 202, description: 'It is under way; Location shows its end', schema: NodeExecView },
      { status: 200, description: 'With Prefer: wait=N: it has ended', schema: NodeExecView },
    ],
    refusals: [...REFUSALS, ...IDEMPOTENCY_REFUSALS, 'node.exec-too-long', 'node.exec-unknown', 'node.exec-simulated'],
  })
  async exec(
    @Param({ schema: NodePath }) path: NodePath,
    @Body({ schema: NodeExecRequest }) { command, timeoutSeconds }: NodeExecRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<NodeExecView> {
    const asked = { purpose: 'exec', command, timeoutSeconds } as const;
    const { view, seq } = await this.executions.ask(path, asked, caller, caller.waitMs);
    const { namespace, cluster, node } = path;
    const ended = view.state !== 'running';
    const location = `/ns/${namespace}/clusters/${cluster}/nodes/${node}/exec/${view.id}`;
    accept(response, { seq, location, status: ended ? 200 : 202, waited: ended });
    return view;
  }

  @Get('exec/:execution')
  @WaitHeader()
  @RoleInNamespace('admin')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getNodeExec',
    tag: 'nodes',
    records: 'nothing',
    summary: 'The outcome of a command on a node',
    description: 'With Prefer: wait=N the answer waits for its end. Its output can be read for five minutes.',
    answers: [{ status: 200, description: 'How far it is', schema: NodeExecView }],
    refusals: [...OF_CLUSTER, 'node.exec-unknown', 'conflict.concurrent'],
  })
  async look(
    @Param({ schema: NodeExecPath }) { execution, ...path }: NodeExecPath,
    @FromExchange() { caller }: Exchange,
  ): Promise<NodeExecView> {
    return (await this.executions.look(path, execution, caller, caller.waitMs)).view;
  }

  @Get('logs')
  @RoleInNamespace('operator')
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getNodeLogs',
    tag: 'nodes',
    records: 'access',
    summary: 'The end of the log of a unit on a node; reading it is recorded',
    answers: [{ status: 200, description: 'Its lines', contentType: 'text/plain' }],
    refusals: [...REFUSALS, 'node.logs-failed', 'node.logs-late', 'node.exec-unknown'],
  })
  async logs(
    @Param({ schema: NodePath }) path: NodePath,
    @Query({ schema: NodeLogsQuery }) query: NodeLogsQuery,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<string> {
    const asked = { purpose: 'logs', command: logsCommand(query), timeoutSeconds: LOGS_TIMEOUT_SECONDS } as const;
    const { view, seq } = await this.executions.ask(path, asked, caller, LOGS_WITHIN_MS);
    const { node } = path;
    if (view.state === 'running')
      throw new RefusalError(refuse('node.logs-late', { node, seconds: LOGS_WITHIN_MS / MS_PER_SECOND }));
    if (view.state === 'failed') throw new RefusalError(refuse('node.logs-failed', { node, cause: view.message }));
    if (view.exitCode !== 0)
      throw new RefusalError(refuse('node.logs-failed', { node, cause: textOf(view.stderr).trim() }));
    showSeq(response, seq);
    return oldestFirst(textOf(view.stdout), view.truncated);
  }

  @Get('logs/stream')
  @RoleInNamespace('operator')
  @Documented({
    id: 'streamNodeLogs',
    tag: 'nodes',
    records: 'access',
    summary: 'The log of a unit on a node as server-sent events, and each new line as it is logged',
    description:
      'Events of type lines have { text, skipped }: skipped lines came after those of the text, faster than they could be sent. The last event, end, has { reason, message }: time-limit after an hour, failed, or stopped. That the log is followed, and the end of it, are recorded; its lines are not.',
    answers: [{ status: 200, description: 'A stream that ends after an hour', contentType: 'text/event-stream' }],
    refusals: [
      ...REFUSALS.filter((code) => code !== 'node.exec-busy'),
      'node.follow-busy',
      'token.too-many-streams',
      'system.too-many-streams',
    ],
  })
  async follow(
    @Param({ schema: NodePath }) path: NodePath,
    @Query({ schema: NodeLogsQuery }) query: NodeLogsQuery,
    @FromCaller() caller: Caller,
    @Res() response: HttpResponse,
  ): Promise<void> {
    await this.streams.serve(path, query, caller, response);
  }
}
