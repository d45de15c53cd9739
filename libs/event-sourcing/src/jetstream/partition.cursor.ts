import type { Position, PositionMove } from './partition.store.js';

const NOWHERE: Position = { seq: 0, epoch: 0 };

/** How far each consumer of a partition has read, and the positions in the database. */
export class PartitionCursor {
  private positions = new Map<string, Position>();
  private written = new Map<string, Position>();

  constructor(readonly consumers: readonly string[]) {}

  /** Resets to the positions in the database. */
  load(written: ReadonlyMap<string, Position>): void {
    this.written = new Map(written);
    this.positions = new Map(written);
  }

  hasSeen(consumer: string, seq: number): boolean {
    return seq <= this.position(consumer).seq;
  }

  /** The sequence that all consumers have read. */
  lowest(): number {
    return Math.min(...[...this.positions.values()].map(({ seq }) => seq));
  }

  /** The sequence that any consumer has read. */
  highest(): number {
    return Math.max(...[...this.positions.values()].map(({ seq }) => seq));
  }

  /** Whether a consumer has read an event by now, regardless of later moves. */
  frozen(): (consumer: string, seq: number) => boolean {
    const positions = new Map(this.positions);
    return (consumer, seq) => seq <= (positions.get(consumer) ?? NOWHERE).seq;
  }

  move(consumers: readonly string[], upTo: number): void {
    for (const consumer of consumers) {
      const { seq, epoch } = this.position(consumer);
      if (seq < upTo) this.positions.set(consumer, { seq: upTo, epoch });
    }
  }

  /** Includes positions that do not move: they are compared too, so that only the owner of the partition can write. */
  moves(): readonly PositionMove[] {
    return this.consumers.map((consumer) => ({
      consumer,
      from: this.written.get(consumer) ?? NOWHERE,
      to: this.position(consumer).seq,
    }));
  }

  wrote(moves: readonly PositionMove[]): void {
    for (const { consumer, from, to } of moves) this.written.set(consumer, { ...from, seq: to });
  }

  /** How many messages a consumer would read again after a crash. */
  aheadOfDatabase(): number {
    return Math.max(
      0,
      ...[...this.positions].map(([consumer, { seq }]) => seq - (this.written.get(consumer)?.seq ?? 0)),
    );
  }

  private position(consumer: string): Position {
    return this.positions.get(consumer) ?? NOWHERE;
  }
}
