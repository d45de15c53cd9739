import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import { terminalText } from './terminal.text.js';

const plain = (text: string): string => terminalText(text, { withColours: false });
const coloured = (text: string): string => terminalText(text, { withColours: true });

describe('text for a terminal', () => {
  it.each([
    ['a sequence that clears the screen', 'a\u001B[2Jb', 'a\\u001b[2Jb'],
    ['one that sets the title of the window', '\u001B]0;root\u0007', '\\u001b]0;root\\u0007'],
    ['one that writes to the clipboard, in its 8-bit form', '\u009D52;c;cm0=\u009C', '\\u009d52;c;cm0=\\u009c'],
    ['a carriage return that would overwrite the line', 'failed\rReady ', 'failed\\u000dReady '],
    ['backspaces and DEL', 'ab\b\u007F', 'ab\\u0008\\u007f'],
    ['NUL', 'a\u0000b', 'a\\u0000b'],
    ['an override of the direction', 'node\u202Etxt.exe', 'node\\u202etxt.exe'],
    ['isolates and marks', '\u2066a\u2069\u200F\u061C', '\\u2066a\\u2069\\u200f\\u061c'],
  ])('escapes %s', (_what, text, shown) => {
    expect(plain(text)).toBe(shown);
    expect(coloured(text)).toBe(shown);
  });

  it('does not change lines, tabs and text in any language', () => {
    const text = 'a\tb\nGrüße, 日本語, עברית, 🙂 ✔ └─';
    expect(plain(text)).toBe(text);
  });

  it('keeps the colours of this program, if colours are enabled', () => {
    const { red, dim, bold, cyan, green, yellow } = pc.createColors(true);
    const text = [red, dim, bold, cyan, green, yellow].map((paint) => paint('x')).join('');
    expect(coloured(text)).toBe(text);
    expect(plain(red('x'))).toBe('\\u001b[31mx\\u001b[39m');
    expect(coloured('\u001B[8mhidden')).toBe('\\u001b[8mhidden');
  });

  it('has the same value when it is parsed as JSON', () => {
    const data = { message: 'a\u001B[2J\u009B\u202Eb' };
    expect(JSON.parse(coloured(JSON.stringify(data)))).toEqual(data);
  });
});
