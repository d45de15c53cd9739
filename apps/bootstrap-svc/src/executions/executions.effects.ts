import { EXEC_LIMITS, ExternalFailure, type ExecOutput } from '@fairlead/contracts';
import type { OpenExecution } from '@fairlead/domain';
import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { renderStep, type NodeExecResult } from '@fairlead/node-scripts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { HOST_ACCESS, REMEMBERED_SECRETS } from '../bootstrap/tokens.js';
import type { HostAccess, HostWorker } from '../hosts/host.access.js';
import { execRef } from '../kubernetes/cluster.access.js';
import type { RememberedSecrets } from '../secrets.cache.js';
import { hostNamed, openExecution, type ExecutionsCommand, type ExecutionsState } from './executions.decider.js';
import { beginsBy, REMOVE_OUTPUT, RUN, type ExecutionData } from './executions.reconciler.js';

type ExecutionTask = TaskContext<ExecutionsState, ExecutionsCommand, ExecutionData>;

const MS_PER_SECOND = 1_000;
/** The longest command, the time to connect, and the time to send its output. */
const LIMIT_MS = (EXEC_LIMITS.timeoutSeconds.max + 120) * MS_PER_SECOND;

const failure = (target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'run a command', target, message, retryable: false });

/** Runs operators' commands over SSH. The start of a command is recorded first: after a crash it is never run again. */
@Controller()
export class ExecutionsEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(REMEMBERED_SECRETS) private readonly secrets: RememberedSecrets,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask(RUN, { attemptsMax: 2, backoffFirstMs: 500, timeoutMs: LIMIT_MS })
  async run(task: ExecutionTask): Promise<void> {
    const open = openExecution(task.state, task.data);
    if (open === undefined) throw new Error('only open requests are carried out');
    const { node, startedAt, requestedAt } = open;
    if (startedAt !== null) {
      // The output may have been stored without a recorded end: no event refers to it.
      await this.secrets.delete(execRef(task.data.requestId));
      throw failure(node, 'its outcome is unknown: the service broke while it ran');
    }
    if (this.clock.now().toISOString() > beginsBy(requestedAt))
      throw failure(node, `it could not begin within ${EXEC_LIMITS.beginSeconds} s`);
    const host = hostNamed(task.state, node);
    if (host === undefined) throw failure(node, 'the node has no machine');
    await this.hosts.onIfAlive(host, task, (worker) => this.once(task, open, worker));
  }

  @OnTask(REMOVE_OUTPUT, { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async remove(task: ExecutionTask): Promise<void> {
    const { uid, requestId } = task.data;
    await this.secrets.delete(execRef(requestId));
    await task.record({ type: 'RecordRemoved', data: { uid, requestId } });
  }

  private async once(task: ExecutionTask, open: OpenExecution, worker: HostWorker): Promise<void> {
    const { uid, requestId } = task.data;
    const after = await task.record({ type: 'RecordStarted', data: { uid, requestId } });
    // The deletion of the cluster was requested while the host was being connected: no unrecorded command runs.
    if (openExecution(after, task.data) === undefined) return;
    const beganMs = this.clock.now().getTime();
    const { node, command, timeoutSeconds } = open;
    const input = { command, timeoutSeconds, outputBytes: EXEC_LIMITS.outputBytes };
    try {
      const ran = await worker.run(renderStep('node-exec', input));
      await this.keep(task, ran, Math.max(0, this.clock.now().getTime() - beganMs));
    } catch (error) {
      task.signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      const cause = failure(node, `its outcome is unknown: ${error.message}`).toCause();
      await task.record({ type: 'RecordFailed', data: { uid, requestId, cause } });
    }
  }

  private async keep(task: ExecutionTask, ran: NodeExecResult, tookMs: number): Promise<void> {
    const { uid, requestId } = task.data;
    const { exitCode, stdout, stderr, stdoutBytes, stderrBytes } = ran;
    const output: ExecOutput = { stdout, stderr };
    const outputRef = execRef(requestId);
    await this.secrets.seal(outputRef, JSON.stringify(output), uid);
    const expiresAt = new Date(this.clock.now().getTime() + EXEC_LIMITS.keptSeconds * MS_PER_SECOND).toISOString();
    const truncated = Math.max(stdoutBytes, stderrBytes) > EXEC_LIMITS.outputBytes;
    const data = { uid, requestId, exitCode, stdoutBytes, stderrBytes, truncated, tookMs, outputRef, expiresAt };
    const after = await task.record({ type: 'RecordFinished', data });
    // The deletion of the cluster was requested meanwhile, or the request was abandoned: the output will not be read.
    if (after.executions?.ended[requestId]?.outcome !== 'finished') await this.secrets.delete(outputRef);
  }
}
