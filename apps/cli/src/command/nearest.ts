/** The edit distance: insertions, deletions, substitutions and swaps of adjacent letters. */
const distance = (a: string, b: string): number => {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const ways = [at(rows, i - 1, j) + 1, (row[j - 1] ?? 0) + 1, at(rows, i - 1, j - 1) + same];
      row.push(Math.min(...ways, ...(swapped ? [at(rows, i - 2, j - 2) + 1] : [])));
    }
    rows.push(row);
  }
  return at(rows, a.length, b.length);
};

const at = (rows: readonly (readonly number[])[], i: number, j: number): number => rows[i]?.[j] ?? 0;

/** Candidates with a similar name, nearest first: at most a third of the letters differ. */
export const nearest = <T>(word: string, candidates: readonly T[], namesOf: (candidate: T) => readonly string[]): T[] =>
  candidates
    .map((candidate) => ({ candidate, far: Math.min(...namesOf(candidate).map((name) => distance(word, name))) }))
    .filter(({ far }) => far <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.far - b.far)
    .map(({ candidate }) => candidate);
