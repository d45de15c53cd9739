/** Pods have one value per 20 to 30 bytes, so a page of 8 MiB has about 400,000. */
const VALUES_MAX = 1_000_000;
/** Kubernetes resources are less than half as deep. */
const DEPTH_MAX = 100;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** Brackets and braces differ by this bit. */
const BRACE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** JSON that would take many times its length in memory, or that recursive code cannot handle. */
export class DenseJson extends Error {
  constructor(words: string) {
    super(`it answered with JSON ${words}`);
    this.name = 'DenseJson';
  }
}

/** The index of the quote that ends a string, or the end. */
const endOfString = (json: Uint8Array, from: number): number => {
  let at = from;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
};

/** Checks each byte once, before anything is parsed. */
export const refuseDenseJson = (json: Uint8Array): void => {
  let [depth, values] = [0, 0];
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COMMA) values += 1;
    else if ((byte | BRACE_BIT) === OPEN) {
      [depth, values] = [depth + 1, values + 1];
      if (depth > DEPTH_MAX) throw new DenseJson(`that is nested more than ${DEPTH_MAX} deep`);
    } else if ((byte | BRACE_BIT) === CLOSE) depth -= 1;
    if (values > VALUES_MAX) throw new DenseJson(`of more than ${VALUES_MAX} values`);
  }
};
