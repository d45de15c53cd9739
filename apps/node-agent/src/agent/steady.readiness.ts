/** How long Kubernetes must have called the node Ready, by how often it has changed its mind lately. */
const HOLD_FIRST_MS = 5_000;
const HOLD_MAX_MS = 60_000;
/** A node that stays Ready for so long has recovered. */
const FORGET_MS = 10 * 60_000;

/**
 * A kubelet that crashes again and again is Ready in between. The first return to Ready counts at once; each one that does not last makes the
 * next one wait twice as long, a minute at most, so that such a node stays not Ready instead of changing every few seconds.
 */
export class SteadyReadiness {
  private readySinceMs: number | undefined;
  private relapses = -1;

  /** Kubernetes calls the node Ready, or not. */
  see(ready: boolean, nowMs: number): void {
    if (!ready) {
      if (this.readySinceMs === undefined) return;
      if (nowMs - this.readySinceMs >= FORGET_MS) this.relapses = -1;
      this.relapses += 1;
      this.readySinceMs = undefined;
    } else this.readySinceMs ??= nowMs;
  }

  /** Until its being Ready counts, in milliseconds; 0: it counts now. Meaningless while it is not Ready. */
  waitMs(nowMs: number): number {
    if (this.relapses <= 0 || this.readySinceMs === undefined) return 0;
    const holdMs = Math.min(HOLD_MAX_MS, HOLD_FIRST_MS * 2 ** (this.relapses - 1));
    return Math.max(0, this.readySinceMs + holdMs - nowMs);
  }
}
