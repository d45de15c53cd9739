interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Collects items while the previous batch is in progress: a single item does not wait, and under load one round trip
 * serves many. `work` returns a result per item, in order.
 */
export class Batcher<Item, Answer> {
  private waiting: Waiting<Item, Answer>[] = [];
  private busy = false;

  constructor(
    private readonly itemsMax: number,
    private readonly work: (items: readonly Item[]) => Promise<readonly Answer[]>,
  ) {}

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.busy) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.busy = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.itemsMax);
      try {
        const answers = await this.work(batch.map(({ item }) => item));
        batch.forEach(({ resolve, reject }, index) => {
          if (index < answers.length) resolve(answers[index] as Answer);
          else reject(new Error('the batch has fewer answers than questions'));
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.busy = false;
  }
}
