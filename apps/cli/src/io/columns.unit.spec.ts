import { expect, it } from '@jest/globals';
import { columnsOf } from './process.io.js';

it.each([
  ['a terminal has its own width', { isTTY: true, columns: 93 }, {}, 93],
  ['a terminal that does not know its width has 80', { isTTY: true, columns: 0 }, {}, 80],
  ['a pipe or a file has no limit', { columns: 93 }, {}, Number.POSITIVE_INFINITY],
  ['COLUMNS decides for a terminal', { isTTY: true, columns: 93 }, { COLUMNS: '120' }, 120],
  ['COLUMNS decides for a pipe', {}, { COLUMNS: '120' }, 120],
  ['a COLUMNS that is no width is none', { isTTY: true, columns: 93 }, { COLUMNS: 'wide' }, 93],
  ['an empty COLUMNS is none', {}, { COLUMNS: '' }, Number.POSITIVE_INFINITY],
] as const)('%s', (_title, stream, env, width) => expect(columnsOf(stream, env)).toBe(width));
