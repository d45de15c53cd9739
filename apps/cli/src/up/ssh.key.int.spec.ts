import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, describe, expect } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { itWith } from '@fairlead/testing/programs';
import { newSshKey } from './ssh.key.js';

describe('an SSH key of the instance', () => {
  const folder = newFolder('ssh-key');
  afterAll(() => removeFolder(folder));

  itWith('ssh-keygen')('is one that OpenSSH reads, and of which it finds the same public half', () => {
    const { privateKey, publicKey } = newSshKey();
    const file = join(folder, 'key');
    writeFileSync(file, privateKey, { mode: 0o600 });
    expect(execFileSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' }).trim()).toBe(publicKey);
  });
});
