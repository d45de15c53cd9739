/** A pause that a wake-up ends early; wake-ups outside a pause are remembered. */
export class WakeSignal {
  private woken = false;
  private endPause: (() => void) | undefined;

  get isSet(): boolean {
    return this.woken;
  }

  ring(): void {
    this.woken = true;
    this.endPause?.();
  }

  /** From here on, only new wake-ups count. */
  reset(): void {
    this.woken = false;
  }

  /** Without a time, only a wake-up ends it. */
  pause(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.endPause = undefined;
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(done, ms);
      this.endPause = done;
    });
  }
}
