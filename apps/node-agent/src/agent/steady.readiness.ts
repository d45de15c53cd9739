/** How long Kubernetes must have reported the node Ready, depending on how often that changed recently. */
const HOLD_FIRST_MS = 5_000;
const HOLD_MAX_MS = 60_000;
/** A node that stays Ready for this long has recovered. */
const FORGET_MS = 10 * 60_000;

/**
 * A kubelet in a crash loop is Ready in between. The first return to Ready counts at once; each one that does not last
 * doubles the wait for the next one, up to a minute, so that such a node remains not Ready instead of flapping.
 */
export class SteadyReadiness {
  private readySinceMs: number | undefined;
  private relapses = -1;

  /** Records that Kubernetes reports the node Ready or not. */
  see(ready: boolean, nowMs: number): void {
    if (!ready) {
      if (this.readySinceMs === undefined) return;
      if (nowMs - this.readySinceMs >= FORGET_MS) this.relapses = -1;
      this.relapses += 1;
      this.readySinceMs = undefined;
    } else this.readySinceMs ??= nowMs;
  }

  /** Milliseconds until Ready counts; 0: it counts now. Meaningless while the node is not Ready. */
  waitMs(nowMs: number): number {
    if (this.relapses <= 0 || this.readySinceMs === undefined) return 0;
    const holdMs = Math.min(HOLD_MAX_MS, HOLD_FIRST_MS * 2 ** (this.relapses - 1));
    return Math.max(0, this.readySinceMs + holdMs - nowMs);
  }
}
