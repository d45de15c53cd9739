import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { customizeScript } from '../rootfs/recipe.rules.js';
import { HOST_FOLDERS, hostFiles } from './host.files.js';
import { generateHostKey } from './host.keys.js';
import type { HostRecord } from './host.record.js';
import { keeperScript } from './keeper.script.js';

const golden = goldenBeside(import.meta.url);

const HOST: HostRecord = {
  name: 'demo-cp-1-a1b2c',
  tag: 'h0123abcd',
  network: 'local-vpc',
  address: '198.18.7.11',
  cpus: 2,
  memoryMiB: 2048,
  layers: ['/cache/node', '/cache/base'],
  readOnly: { '/opt/fairlead/mirror': '/cache/kubernetes' },
  hostKey: 'SHA256:abc',
  machineId: '0123456789abcdef0123456789abcdef',
  labels: {},
  createdAt: '2026-01-01T00:00:00.000Z',
};

describe('the scripts and files of a host', () => {
  it('keep it: boot it, boot it again after a reboot, and clean up afterwards', () =>
    golden('keeper.sh.golden', keeperScript(HOST, '/srv/state/hosts/demo', 'fairlead-0123abcd')));

  it('set no limits if none were requested', () => {
    const free = keeperScript({ ...HOST, cpus: null, memoryMiB: null }, '/srv', 'n');
    expect(free).not.toMatch(/memory\.|cpu\.(cfs|max)/);
  });

  it('turn packages into a host without identity', () => golden('customize.sh.golden', customizeScript()));

  it('set its name, its address, a name server that refuses, and its login keys', () => {
    const files = hostFiles({
      ...HOST,
      prefix: 24,
      gateway: '198.18.7.1',
      authorizedKeys: ['ssh-ed25519 AAAA one\n', 'ssh-ed25519 BBBB two'],
      hostKey: { privateKeyFile: 'private\n', publicKeyLine: 'public\n' },
    });
    const listing = files.map(({ path, mode, owner, content }) => `${mode.toString(8)} ${owner} /${path}\n${content}`);
    const folders = HOST_FOLDERS.map(({ path, mode, owner }) => `${mode.toString(8)} ${owner} /${path}/`);
    golden('host.files.golden', [...folders, ...listing].join('\n'));
  });

  it('contain a different known key for each host', () => {
    const [one, other] = [generateHostKey('a'), generateHostKey('b')];
    expect(one.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect(one.fingerprint).not.toBe(other.fingerprint);
  });
});
