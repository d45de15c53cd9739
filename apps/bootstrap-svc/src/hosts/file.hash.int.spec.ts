import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { sha256OfFile } from './file.hash.js';

describe('the SHA-256 of a file', () => {
  const file = join(newFolder('file-hash'), 'file');

  it.each([0, 1, 256 * 1024, 600_000])('is that of its content, %d bytes', async (size) => {
    const content = randomBytes(size);
    writeFileSync(file, content);
    expect(await sha256OfFile(file)).toBe(createHash('sha256').update(content).digest('hex'));
  });

  it('of a file that does not exist is none', () => expect(sha256OfFile(`${file}.not`)).rejects.toThrow('ENOENT'));
});
