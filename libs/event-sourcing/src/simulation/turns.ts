/** Thrown into a killed program instead of a response: nothing it does afterwards has an effect. */
export class Killed extends Error {}

interface Waiting {
  readonly life: Life;
  readonly go: () => void;
  readonly end: (error: Killed) => void;
}

/** One run of a replica, from its start until it is killed. */
export class Life {
  dead = false;

  constructor(private readonly turns: Turns) {}

  /** Resolves when it is this replica's turn; rejects with Killed if it was killed before. */
  turn(): Promise<void> {
    return this.turns.wait(this);
  }
}

/**
 * Schedules replicas: every call to the outside waits here, so that replicas interleave, and end, between any two
 * calls.
 */
export class Turns {
  private waiting: Waiting[] = [];

  get count(): number {
    return this.waiting.length;
  }

  wait(life: Life): Promise<void> {
    if (life.dead) return Promise.reject(new Killed());
    return new Promise((go, end) => this.waiting.push({ life, go, end }));
  }

  letGo(index: number): void {
    const [next] = this.waiting.splice(index, 1);
    next?.go();
  }

  kill(life: Life): void {
    life.dead = true;
    const ended = this.waiting.filter((one) => one.life === life);
    this.waiting = this.waiting.filter((one) => one.life !== life);
    for (const { end } of ended) end(new Killed());
  }
}
