/** The entries of a log as `journalctl --output short-iso` prints them: further lines of a message are indented. */
const entriesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split(/\n(?!\s)/));

/**
 * What `journalctl --reverse` printed, the oldest entry first. Some versions take --lines for the first entries when --since is given, and an
 * answer that is too long keeps its beginning: in reverse order both are the newest. `truncated`: the oldest entry may lack its end.
 */
export const oldestFirst = (text: string, truncated: boolean): string => {
  const entries = entriesOf(text);
  const whole = truncated
    ? [...entries.slice(0, -1), '-- earlier entries are left out: the answer would be too long --']
    : entries;
  return whole
    .toReversed()
    .map((entry) => `${entry}\n`)
    .join('');
};
