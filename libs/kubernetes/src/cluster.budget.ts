const WINDOW_MS = 60_000;
const MEBIBYTE = 1024 * 1024;
/** The Nodes of the largest supported Kubernetes cluster take 80 MiB, its pods 700. */
const BYTES_MAX = 1024 * MEBIBYTE;
/** A sixth of a core. The pods of the largest cluster take half of it. */
const WORK_MS_MAX = 10_000;

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** Limits what one cluster may cost this process per minute: bytes of responses, and CPU time to read them. */
export class ClusterBudget {
  private windowAtMs = -Infinity;
  private bytes = 0;
  private workMs = 0;

  /** `now` and `cpu`: monotonic milliseconds. CPU time, because on a loaded machine work takes longer than that. */
  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly cpu: () => number = cpuMs,
  ) {}

  spend({ bytes = 0, workMs = 0 }: { readonly bytes?: number; readonly workMs?: number }): void {
    this.beginWindow();
    this.bytes += bytes;
    this.workMs += workMs;
  }

  /** undefined: budget is left; otherwise what is exhausted, and when it resets. */
  exhausted(): string | undefined {
    this.beginWindow();
    const used =
      this.bytes >= BYTES_MAX
        ? `its answers had ${BYTES_MAX / MEBIBYTE} MiB`
        : this.workMs >= WORK_MS_MAX
          ? `reading its answers took ${WORK_MS_MAX / 1_000} s`
          : undefined;
    if (used === undefined) return undefined;
    const waitS = Math.ceil((this.windowAtMs + WINDOW_MS - this.now()) / 1_000);
    return `it is not asked for another ${waitS} s: ${used} within a minute`;
  }

  /** Runs work on a response and charges its time. */
  work<Result>(of: () => Result): Result {
    const before = this.cpu();
    try {
      return of();
    } finally {
      this.spend({ workMs: this.cpu() - before });
    }
  }

  private beginWindow(): void {
    const nowMs = this.now();
    if (nowMs - this.windowAtMs < WINDOW_MS) return;
    this.windowAtMs = nowMs;
    [this.bytes, this.workMs] = [0, 0];
  }
}
