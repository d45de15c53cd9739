import { expect } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Compares with `golden/<name>` beside the spec. What people read is reviewed as text; update it with UPDATE_GOLDEN=1. */
export const goldenBeside =
  (specUrl: string) =>
  (name: string, text: string): void => {
    const file = join(dirname(fileURLToPath(specUrl)), 'golden', name);
    if (process.env['UPDATE_GOLDEN'] === '1') {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    expect(text).toBe(readFileSync(file, 'utf8'));
  };
