/** Edit distance with transpositions: optimal string alignment. */
const distance = (one: string, other: string): number => {
  let before: readonly number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = one[row - 1] === other[at - 1];
      const swapped = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      line.push(
        Math.min(
          (last[at] ?? 0) + 1,
          (line[at - 1] ?? 0) + 1,
          (last[at - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (before[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = last;
    last = line;
  }
  return last[other.length] ?? 0;
};

/** Longer names are not compared: the cost grows with both lengths. */
const NAME_LENGTH_MAX = 64;

/** The known name that was probably meant; undefined: none is close. */
export const nearestOf = (name: string, known: readonly string[]): string | undefined => {
  if (name.length > NAME_LENGTH_MAX) return undefined;
  const near = known
    .map((candidate) => ({ candidate, away: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, away }) => away <= Math.max(2, Math.floor(candidate.length / 3)));
  return near.sort((one, other) => one.away - other.away)[0]?.candidate;
};
