/** The sequence that each partition has reached; missing partitions are at the beginning. */
export type Reached = ReadonlyMap<number, number>;

/** A part of the log whose start and end differ per partition, read in one pass. */
export interface PartitionRange {
  /** Read after this sequence, up to and including `last`. */
  readonly first: number;
  readonly last: number;
  /** Whether it includes a message of the partition. */
  has(partition: number, seq: number): boolean;
}

/** The range after `after` up to `upTo`; undefined: empty. */
export const partitionRange = (after: Reached, upTo: Reached): PartitionRange | undefined => {
  const startOf = (partition: number): number => after.get(partition) ?? 0;
  const behind = [...upTo].filter(([partition, end]) => end > startOf(partition));
  if (behind.length === 0) return undefined;
  return {
    first: Math.min(...behind.map(([partition]) => startOf(partition))),
    last: Math.max(...behind.map(([, end]) => end)),
    has: (partition, seq) => seq > startOf(partition) && seq <= (upTo.get(partition) ?? 0),
  };
};
