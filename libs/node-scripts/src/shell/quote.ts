const SAFE_WORD = /^[A-Za-z0-9_./:=@%+,-]+$/;

/**
 * One word of POSIX shell that expands to exactly this text, whatever it contains. Words that need no quotes get none,
 * so that rendered scripts stay readable. A NUL cannot be part of a word: that is a bug and throws.
 */
export const quote = (text: string): string => {
  if (text.includes('\0')) throw new Error('a shell word cannot hold a NUL');
  return SAFE_WORD.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
};

/** A path of the host as a shell word. `$root` is set at the start of every script: empty on real hosts. */
export const hostPath = (path: string): string => (SAFE_WORD.test(path) ? `"$root${path}"` : `"$root"${quote(path)}`);
