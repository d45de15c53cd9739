import { bootstrapDataOf, JOIN_MARKER, joinCommandOf, PoolBootstrap } from '@fairlead/contracts';
import { goldenBeside } from '@fairlead/testing/golden';
import { parseYaml } from '@fairlead/parsers';
import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';

const LIMITS = { lengthMax: 65_536 };
const golden = goldenBeside(import.meta.url);
const TOKEN = `flj_0a1b2c3d4e5f_${'s'.repeat(43)}`;
const COMMAND = joinCommandOf({
  server: 'https://fairlead.example.com/',
  ca: undefined,
  issued: {
    ...{ namespace: 'default', cluster: 'demo', token: TOKEN },
  },
  script: { path: '/join/install.sh', sha256: 'a'.repeat(64) },
});
const dataOf = (format: 'cloud-config' | 'shell', given?: string): string =>
  bootstrapDataOf({
    ...{ command: COMMAND, format, given },
    ...{ cluster: 'default/demo', pool: 'web', expiresAt: '2026-01-31T12:15:00.000Z' },
  });

/** What a shell would run, instead of running it. */
const runBy = (line: string): string => execFileSync('sh', ['-c', line.replace(/\| sh$/, '')], { encoding: 'utf8' });

const GIVEN = `#cloud-config
packages: [nfs-common]
runcmd:
  - [mkdir, -p, /srv/data]
  - ${JOIN_MARKER}
`;

describe('bootstrap data', () => {
  it('are generated as a cloud-config that runs the command', () => {
    const text = dataOf('cloud-config');
    golden('bootstrap-data.cloud-config', text);
    const { runcmd } = parseYaml(text, LIMITS) as { readonly runcmd: readonly string[] };
    expect(runcmd).toHaveLength(1);
    expect(runBy(runcmd[0] ?? '')).toBe(COMMAND);
  });

  it('are generated as a script that runs the command', () => {
    const text = dataOf('shell');
    golden('bootstrap-data.sh', text);
    expect(runBy(text.trimEnd().split('\n').at(-1) ?? '')).toBe(COMMAND);
  });

  it('that are given run the command where their marker is, and keep everything else', () => {
    const { packages, runcmd } = parseYaml(dataOf('cloud-config', GIVEN), LIMITS) as {
      readonly packages: readonly string[];
      readonly runcmd: readonly unknown[];
    };
    expect([packages, runcmd[0]]).toEqual([['nfs-common'], ['mkdir', '-p', '/srv/data']]);
    expect(runBy(runcmd[1] as string)).toBe(COMMAND);
  });

  it.each([
    ['without a marker', '#cloud-config\nruncmd: []\n'],
    ['with two markers', `#!/bin/sh\n${JOIN_MARKER}\n${JOIN_MARKER}\n`],
    ['of an unknown format', `runcmd:\n  - ${JOIN_MARKER}\n`],
    ['longer than clouds take', `#!/bin/sh\n${JOIN_MARKER}\n${'#'.repeat(16_384)}`],
  ])('are refused %s', (_words, data) => expect(PoolBootstrap.safeParse({ data }).success).toBe(false));

  it('are accepted with one marker, as cloud-config and as a script', () => {
    for (const data of [GIVEN, `#!/bin/bash\nset -eu\n${JOIN_MARKER}\n`])
      expect(PoolBootstrap.safeParse({ data }).success).toBe(true);
  });
});
