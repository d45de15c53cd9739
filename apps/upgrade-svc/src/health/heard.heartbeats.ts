import { heartbeatSubject } from '@fairlead/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HeartbeatReport, NodeHeartbeats } from './heartbeats.ports.js';
import type { HeartbeatListener } from './heartbeats.listener.js';
import type { ReadHeartbeat } from './last.heartbeat.js';

const POLL_INTERVAL_MS = 250;
/**
 * A clock that seems to differ this much is checked twice, because this process may have been busy when the heartbeat
 * arrived.
 */
const DOUBTFUL_SKEW_MS = 250;

type Listener = Pick<HeartbeatListener, 'heardAt' | 'lastOf' | 'sinceMs'>;

/**
 * The last heartbeat that this replica has received. Soon after its start, or after NATS was away, it waits for the
 * next one of a node, because silence within the limit means nothing.
 */
export class HeardHeartbeats implements NodeHeartbeats {
  constructor(
    private readonly listener: Listener,
    private readonly limitMs: number,
  ) {}

  async last({ namespace, cluster, node }: Parameters<NodeHeartbeats['last']>[0]): Promise<HeartbeatReport | null> {
    const subject = heartbeatSubject(namespace, cluster, node);
    const read = await this.after(subject, -Infinity);
    if (read === undefined) return null;
    const isDoubtful = Math.abs(read.skewMs) >= DOUBTFUL_SKEW_MS;
    const newer = isDoubtful ? await this.after(subject, performance.now()) : undefined;
    const skewMs = newer === undefined || Math.abs(read.skewMs) < Math.abs(newer.skewMs) ? read.skewMs : newer.skewMs;
    const { source = null, kubelet = null, cgroupV1 = null } = (newer ?? read).heartbeat;
    return { skewMs, source, kubelet, cgroupV1 };
  }

  /** The first heartbeat after that time; undefined: none arrived within the silence limit. */
  private async after(subject: string, moment: number): Promise<ReadHeartbeat | undefined> {
    const beganMs = performance.now();
    for (;;) {
      const read = (this.listener.heardAt(subject) ?? -Infinity) > moment ? this.listener.lastOf(subject) : undefined;
      if (read !== undefined) return read;
      const { sinceMs = beganMs } = this.listener;
      if (performance.now() - Math.max(Math.min(sinceMs, beganMs), moment) >= this.limitMs) return undefined;
      await sleep(POLL_INTERVAL_MS);
    }
  }
}
