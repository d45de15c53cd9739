/** Serializes operations per name; different names do not wait for each other. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();

  async of<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.last.get(name) === mine) this.last.delete(name);
    }
  }
}
