/**
 * Worst-case texts for parsers, by format. Each has about `length` characters, and none is longer. A parser may reject
 * them, but must not take long.
 */
export type WorstText = (length: number) => string;

const filled = (part: (index: number) => string, length: number): string => {
  const parts: string[] = [];
  let left = length;
  for (let index = 0; ; index += 1) {
    const one = part(index);
    if (one.length > left) return parts.join('');
    parts.push(one);
    left -= one.length;
  }
};

const within =
  (open: string, part: (index: number) => string, close: string): WorstText =>
  (length) =>
    `${open}${filled(part, length - open.length - close.length)}${close}`;

const repeated =
  (part: string, before = '', after = ''): WorstText =>
  (length) =>
    `${before}${part.repeat(Math.max(0, Math.floor((length - before.length - after.length) / part.length)))}${after}`;

const nested =
  (open: string, inner: string, close: string): WorstText =>
  (length) => {
    const levels = Math.floor((length - inner.length) / (open.length + close.length));
    return `${open.repeat(levels)}${inner}${close.repeat(levels)}`;
  };

/** Each line is indented by one more space than the previous one. */
const indented: WorstText = (length) => {
  const lines: string[] = [];
  let left = length;
  for (let level = 0; level + 3 <= left; level += 1) {
    lines.push(`${' '.repeat(level)}a:\n`);
    left -= level + 3;
  }
  return lines.join('');
};

/** The same with an anchor or a tag in each line, whose target a parser must find. */
const indentedWith =
  (property: string): WorstText =>
  (length) => {
    const lines: string[] = [];
    let left = length;
    for (let level = 0; level + property.length + 4 <= left; level += 1) {
      lines.push(`${' '.repeat(level)}${property}\n`);
      left -= level + property.length + 1;
    }
    return `${lines.join('')}a: 1`;
  };

/** Ten aliases of ten aliases of …, and then as many as fit. */
const laughs: WorstText = (length) => {
  const levels = filled(
    (at) => `a${at}: &a${at} [${`*a${at - 1},`.repeat(at === 0 ? 0 : 9)}x]\n`,
    Math.min(length, 900),
  );
  return `${levels}z: [${filled(() => '*a9,', length - levels.length - 5)}]`;
};

export const WORST_JSON: Readonly<Record<string, WorstText>> = {
  'many keys': within('{', (at) => `"k${at}":1,`, '"z":1}'),
  'many numbers as keys': within('{', (at) => `"${at * 2_097_152}":1,`, '"z":1}'),
  'the same key again and again': repeated('"a":1,', '{', '"a":1}'),
  'many objects of other keys each': within('[', (at) => `{"${at.toString(36)}":1},`, '0]'),
  'many empty objects': repeated('{},', '[', '0]'),
  'many short strings': within('[', (at) => `"${at.toString(36)}",`, '0]'),
  'deep arrays': nested('[', '', ']'),
  'deep objects': nested('{"a":', '1', '}'),
  'arrays that never end': repeated('['),
  'a string of escapes': repeated('\\u0041', '"', '"'),
  'a string of backslashes that never ends': repeated('\\\\', '"'),
  'a long string': repeated('a', '"', '"'),
  'a long number': repeated('1'),
  'many numbers': repeated('1e9,', '[', '0]'),
  'blanks alone': repeated(' '),
  'nothing that is JSON': repeated('"a'),
};

export const WORST_YAML: Readonly<Record<string, WorstText>> = {
  'many keys in one flow map': within('{', (at) => `k${at}: 1, `, 'z: 1}'),
  'many keys in one block map': within('', (at) => `k${at}: 1\n`, ''),
  'many items': repeated('- a\n'),
  'many items in one flow list': repeated('a,', '[', 'a]'),
  'pairs in a flow list': repeated('a: b,', '[', 'a]'),
  'deep flow lists': nested('[', '', ']'),
  'deep flow maps': nested('{a: ', '1', '}'),
  'deep block lists': repeated('- ', '', 'a'),
  'a staircase': indented,
  'a staircase of anchors': indentedWith('&a'),
  'a staircase of tags': indentedWith('!!map'),
  'a staircase of anchored keys': indentedWith('&a b:'),
  'many properties': repeated('&a !!str ', '', 'a: 1'),
  'anchored keys': within('', (at) => `&a${at} k${at}: 1\n`, ''),
  'lists that never end': repeated('['),
  anchors: within('[', (at) => `&a${at} x,`, 'x]'),
  'aliases of one anchor': repeated('*a,', '[&a x,', 'x]'),
  'aliases of aliases': laughs,
  'merge keys': repeated('*a,', 'a: &a {b: 1, c: 2}\nd:\n  <<: [', '*a]'),
  escapes: repeated('\\x41', '"', '"'),
  'escaped line breaks': repeated('\\\n', '"', '"'),
  'a plain scalar of many lines': repeated('b\n  ', 'a: '),
  'a quoted scalar of many lines': repeated('a\n ', '"', '"'),
  'a folded scalar': repeated(' b\n', 'a: >\n'),
  'a folded scalar of blank lines': repeated('\n', 'a: >\n  x', '  y'),
  'a long plain scalar': repeated('a'),
  'a long key': repeated('a', '', ': 1'),
  'a long number': repeated('1'),
  'quotes in quotes': repeated("''", "'", "'"),
  comments: repeated('#\n', '', 'a: 1'),
  'a comment at each key': within('', (at) => `k${at}: 1 # c\n# d\n`, ''),
  'blank lines': repeated('\n', 'a:', '  b: 1'),
  'blanks within a line': repeated(' ', 'a:', 'b'),
  tabs: repeated('\t', 'a:', 'b'),
  documents: repeated('---\n'),
  'documents with a value each': repeated('--- a\n'),
  directives: repeated('%YAML 1.2\n', '', '---\na'),
  tags: repeated('!!str a,', '[', 'a]'),
  'the same key again and again': repeated('a: 1\n'),
  'question marks': repeated('? a\n'),
  'faults in each line': repeated('a: b: c\n'),
  'ends without a beginning': repeated(']\n'),
  dashes: repeated('-'),
  'carriage returns': repeated('\r'),
};

/** Worst cases for regular expressions and line-based parsers. */
export const WORST_LINES: Readonly<Record<string, WorstText>> = {
  'line breaks alone': repeated('\n'),
  'lines of one character': repeated('a\n'),
  'one long line': repeated('a'),
  'blanks alone': repeated(' '),
  'blanks at the end of each line': repeated(`a${' '.repeat(60)}\n`),
  tabs: repeated('\t'),
  digits: repeated('1'),
  'digits and dots': repeated('1.'),
  'digits and colons': repeated('1:'),
  dashes: repeated('-'),
  slashes: repeated('/'),
  'escapes of a terminal': repeated('\u001B['),
  quotes: repeated('"'),
  'opening brackets': repeated('{['),
  'equals signs': repeated('a='),
  'commas and blanks': repeated(', '),
  'half characters': repeated('\uD800'),
  'begins of certificates': repeated('-----BEGIN CERTIFICATE-----\n'),
};

/** Worst cases for PEM and keys, whose bodies are base64. */
export const WORST_PEM: Readonly<Record<string, WorstText>> = {
  ...Object.fromEntries(
    ['CERTIFICATE', 'OPENSSH PRIVATE KEY', 'RSA PRIVATE KEY', 'PUBLIC KEY'].flatMap((kind) => [
      [`a long ${kind}`, repeated('AAAA', `-----BEGIN ${kind}-----\n`, `\n-----END ${kind}-----\n`)],
      [`many of ${kind}`, repeated(`-----BEGIN ${kind}-----\nAAAA\n-----END ${kind}-----\n`)],
      [`beginnings of ${kind}`, repeated(`-----BEGIN ${kind}-----\n`)],
      [`headers of ${kind}`, repeated('A: b\n', `-----BEGIN ${kind}-----\n`, `\n-----END ${kind}-----\n`)],
    ]),
  ),
};

/** Worst cases for protocol buffers; each character is one byte (latin1). Field 1 stands for whatever a message has there. */
export const WORST_PROTOBUF: Readonly<Record<string, WorstText>> = {
  'groups that never end': repeated('\u000B'),
  'groups that end at once': repeated('\u000B\u000C'),
  'a number that never ends': repeated('\u00FF'),
  'empty messages': repeated('\u000A\u0000'),
  'other empty messages': repeated('\u0012\u0000'),
  'short strings': repeated('\u000A\u0001a'),
  'numbers of known fields': repeated('\u0008\u0001\u0010\u0001'),
  'fields that nobody knows': repeated('\u00F8\u0007\u0001'),
  'a length beyond the end': repeated('\u000A\u007F'),
  'nothing but zeros': repeated('\u0000'),
};
