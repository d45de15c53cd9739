import { expect } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Compares text with `golden/<name>` beside the spec: `goldenBeside(import.meta.url)`. Text for people and programs is
 * reviewed in these files; UPDATE_GOLDEN=1 writes them.
 */
export const goldenBeside =
  (specUrl: string | URL) =>
  (name: string, text: string): void => {
    const file = fileURLToPath(new URL(`golden/${name}`, specUrl));
    if (process.env['UPDATE_GOLDEN'] === '1') {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    expect(text).toBe(readFileSync(file, 'utf8'));
  };
