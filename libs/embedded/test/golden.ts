import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';

/** Configuration that a server will read is reviewed as text. Update with UPDATE_GOLDEN=1. */
export const expectGolden = (name: string, specUrl: string, text: string): void => {
  const file = fileURLToPath(new URL(`golden/${name}.golden`, specUrl));
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text).toBe(readFileSync(file, 'utf8'));
};
