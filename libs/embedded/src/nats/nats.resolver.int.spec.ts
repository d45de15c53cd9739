import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveNatsServer } from './nats.resolver.js';

const folder = newFolder('nats-cache');
afterAll(() => removeFolder(folder));

/** A program in the cache that says its version. */
const cached = (version: string, mode: { readonly folder: number; readonly program: number }): string => {
  const at = join(folder, `nats-server-${version}`);
  const program = join(at, 'nats-server');
  mkdirSync(at);
  writeFileSync(program, `#!/bin/sh\necho "nats-server: v${version}"\n`);
  chmodSync(program, mode.program);
  chmodSync(at, mode.folder);
  return program;
};

describe('a nats-server in the cache', () => {
  it('is run only if no other user can have replaced it', async () => {
    const own = cached('999.0.1', { folder: 0o755, program: 0o755 });
    cached('999.0.2', { folder: 0o777, program: 0o755 });
    cached('999.0.3', { folder: 0o755, program: 0o777 });
    const env = { NATS_SERVER_BIN: '', PATH: '' };
    const { path, source } = await resolveNatsServer({ cacheDir: folder, env, log: () => undefined });
    // A server that the system has comes first.
    expect([own, expect.stringMatching(/^\/usr\//)]).toContainEqual(path);
    expect(['cache', 'PATH']).toContain(source);
  });
});
