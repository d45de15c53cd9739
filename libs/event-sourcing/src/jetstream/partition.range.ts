/** The sequence of the log that each partition has come to; one that is not in it is at the beginning. */
export type Reached = ReadonlyMap<number, number>;

/** A part of the log that begins and ends elsewhere in each partition, and is read in one pass. */
export interface PartitionRange {
  /** It is read after this sequence, up to and with `last`. */
  readonly first: number;
  readonly last: number;
  /** Whether a message of the partition is in it. */
  has(partition: number, seq: number): boolean;
}

/** What is after `after` up to `upTo`; undefined: nothing is. */
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
