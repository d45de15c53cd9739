import { FOLLOW_LIMITS, ExternalFailure, type LogLines } from '@fairlead/contracts';
import type { OpenFollow } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { renderStep } from '@fairlead/node-scripts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { HOST_ACCESS, LOG_READERS } from '../bootstrap/tokens.js';
import type { HostAccess, HostWorker } from '../hosts/host.access.js';
import { hostNamed, openFollow, type ExecutionsCommand, type ExecutionsState } from './executions.decider.js';
import type { LogReader, LogReaders } from './executions.ports.js';
import { FOLLOW, type ExecutionData } from './executions.reconciler.js';

type FollowTask = TaskContext<ExecutionsState, ExecutionsCommand, ExecutionData>;

const MS_PER_SECOND = 1_000;
/** The end of the follow, and the time to connect and to read once more. */
const LIMIT_MS = (FOLLOW_LIMITS.seconds + 120) * MS_PER_SECOND;

/** The amount sent to a reader. */
interface Sent {
  bytes: number;
  skippedLines: number;
}

/**
 * Reads logs for readers when they request more: a slow reader, or one that has disconnected, costs the node nothing.
 * Each request has the position, so that nothing is read twice after a crash, and nothing is stored here.
 */
@Controller()
export class FollowsEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(LOG_READERS) private readonly readers: LogReaders,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask(FOLLOW, { attemptsMax: 1, timeoutMs: LIMIT_MS })
  async follow(task: FollowTask): Promise<void> {
    const { uid, requestId } = task.data;
    const open = openFollow(task.state, task.data);
    if (open === undefined) throw new Error('only open requests are carried out');
    const reader = this.readers.of(requestId);
    const beganMs = this.clock.now().getTime();
    const sent: Sent = { bytes: 0, skippedLines: 0 };
    const tookMs = (): number => Math.max(0, this.clock.now().getTime() - beganMs);
    try {
      const reason = await this.untilEnd(task, open, { reader, sent });
      await task.record({ type: 'RecordFollowEnded', data: { uid, requestId, reason, ...sent, tookMs: tookMs() } });
    } catch (error) {
      task.signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      const failed = { reason: 'failed', cause: error.toCause() } as const;
      await task.record({ type: 'RecordFollowEnded', data: { uid, requestId, ...failed, ...sent, tookMs: tookMs() } });
    } finally {
      reader.close();
    }
  }

  private async untilEnd(
    task: FollowTask,
    open: OpenFollow,
    to: { readonly reader: LogReader; readonly sent: Sent },
  ): Promise<'reader-gone' | 'time-limit'> {
    const host = hostNamed(task.state, open.node);
    if (host === undefined)
      throw new ExternalFailure({ operation: 'follow the log', target: open.node, message: 'the node has no machine' });
    const endsAt = later(open.requestedAt, FOLLOW_LIMITS.seconds * MS_PER_SECOND);
    return this.hosts.onIfAlive(host, task, async (worker) => {
      let last: LogLines | undefined;
      while (this.clock.now().toISOString() < endsAt) {
        const ask = await to.reader.next(FOLLOW_LIMITS.silentSeconds * MS_PER_SECOND, task.signal);
        if (ask === undefined || ask.type === 'end') return 'reader-gone';
        if (ask.type === 'wait') continue;
        // A repeated request: the answer was lost, or was still on its way.
        if (ask.number !== last?.number) last = await this.read(worker, open, ask, to.sent);
        to.reader.send(last);
      }
      return 'time-limit';
    });
  }

  private async read(
    worker: HostWorker,
    { unit, lines, sinceSeconds }: OpenFollow,
    { number, after }: Pick<LogLines, 'number'> & { readonly after: LogLines['position'] | null },
    sent: Sent,
  ): Promise<LogLines> {
    const { bytes, waitSeconds } = FOLLOW_LIMITS;
    const input = { unit, lines, sinceSeconds, after, bytes, waitSeconds };
    const read = await worker.run(renderStep('node-log', input));
    sent.bytes += Buffer.byteLength(read.text, 'base64');
    sent.skippedLines += read.skipped;
    return { number, ...read };
  }
}
