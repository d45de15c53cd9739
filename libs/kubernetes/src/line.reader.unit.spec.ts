import { describe, expect, it } from '@jest/globals';
import { LinesBeginning } from './line.reader.js';
import { linesIn } from './line.reader.fixtures.js';

describe('LinesBeginning', () => {
  it.each([1, 3, 1_000])('keeps the lines with its prefix, for chunks of %d bytes', (pieceBytes) => {
    const text = '# HELP\nmetric{a="1"} 1\nmetri\nother{} 2\n\nmetric{b="2"} 0\r\nmetric{c="ü"} 3';
    expect(linesIn(text, 'metric{', pieceBytes)).toEqual(['metric{a="1"} 1', 'metric{b="2"} 0\r', 'metric{c="ü"} 3']);
  });

  it('skips lines of more than 4 KiB, and lines beyond a thousand', () => {
    const long = `metric{a="${'x'.repeat(5_000)}"} 1\n`;
    expect(linesIn(`${long}metric{} 1\n`, 'metric{', 64)).toEqual(['metric{} 1']);
    expect(linesIn('metric{} 1\n'.repeat(5_000), 'metric{', 4_096)).toHaveLength(1_000);
  });

  it('reads only up to its limit', () => {
    const reader = new LinesBeginning('metric{', 25);
    reader.take(Buffer.from('metric{} 1\nmetric{} 2\nmetric{} 3\n'));
    reader.take(Buffer.from('metric{} 4\n'));
    expect(reader.end()).toEqual(['metric{} 1', 'metric{} 2']);
  });

  it('keeps nothing of endless lines', () => expect(linesIn('metric{'.repeat(2_000), 'metric{', 64)).toEqual([]));
});
