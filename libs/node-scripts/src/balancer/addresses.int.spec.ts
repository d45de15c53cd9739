import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { check, itWith } from '@fairlead/testing/programs';

const GOLDEN = new URL('golden/', import.meta.url).pathname;
const text = (name: string): string => readFileSync(join(GOLDEN, `${name}.golden`), 'utf8');

describe('the configuration of virtual addresses', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-addresses-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const written = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };

  itWith('haproxy').each(['addresses.haproxy.cfg', 'addresses.haproxy.ipv6.cfg'])(
    'is accepted by haproxy: %s',
    (name) => {
      // haproxy's own user may not exist on this machine.
      const path = written(name, text(name).replaceAll(/^ {2}(user|group) haproxy\n/gm, ''));
      const { code, lines } = check('haproxy', ['-c', '-f', path]);
      expect([code, lines.filter((line) => !/NOTICE|Configuration file is valid/.test(line))]).toEqual([0, []]);
    },
  );

  const device = Object.keys(networkInterfaces()).find((name) => name !== 'lo') ?? 'lo';
  itWith('keepalived').each(['addresses.keepalived.conf', 'addresses.keepalived.ipv6.conf'])(
    'is accepted by keepalived: %s',
    (name) => {
      const path = written(name, text(name).replaceAll('@interface@', device).replaceAll('dev eth1', `dev ${device}`));
      const { lines } = check('keepalived', ['--config-test', '--use-file', path]);
      // The script that it tracks does not exist on this machine.
      expect(lines.filter((line) => !/check\.sh|haproxy_runs/.test(line))).toEqual([]);
    },
  );
});
