import { isRefusal, type ConnectionName } from '@fairlead/contracts';
import { cacheFolder } from '@fairlead/mirror';
import { diskRoom, openLocal } from '@fairlead/nspawn';
import { isInOwnNetwork, runInOwnNetwork, whyNoHosts } from '@fairlead/nspawn/testing';
import { newFolder } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { registered } from '../../../test/fixtures.js';
import type { InfrastructureProvider } from '../../providers/provider.ports.js';
import { describeProvider } from '../provider.features.js';
import { opensshKeys } from '../ssh-keys/openssh.keys.js';
import { nspawnKind } from './nspawn.kind.js';
import { NspawnProvider, type NspawnOptions } from './nspawn.provider.js';

const RUN_MS = 600_000;
const NAME = 'local' as ConnectionName;

const open = (settings: Readonly<Record<string, unknown>>): InfrastructureProvider => {
  const { data } = registered({ name: NAME, provider: 'nspawn', region: 'local', settings });
  const provider = nspawnKind(process.env).open({ ...data, registration: 'event-1' }, undefined);
  if (isRefusal(provider)) throw new Error(provider.message);
  return provider;
};

if (isInOwnNetwork()) {
  describeProvider('nspawn', async () => {
    const stateDir = newFolder('nspawn');
    const settings = { stateDir, mirror: stateDir, networkCidr: '198.18.77.0/24' };
    return {
      open: () => open(settings),
      connection: 'local',
      region: 'local',
      spec: 'nspawn.medium',
      publicKey: opensshKeys.generate('spec').publicKey,
      cidr: settings.networkCidr,
      stop: async () => {
        const local = openLocal({ stateDir: join(stateDir, NAME), cacheDir: cacheFolder(process.env) });
        const networks = local.networks.all().map(({ name }) => name);
        expect(local.hosts.all()).toEqual([]);
        await local.clear();
        expect(await local.leftovers({ networks })).toEqual([]);
        rmSync(stateDir, { recursive: true });
      },
    };
  });
} else {
  const why = await whyNoHosts();
  const holds = why === undefined ? it : it.skip;
  holds('nspawn keeps the promise of the provider port, on real hosts', () => runInOwnNetwork(import.meta.url), RUN_MS);
}

describe('an nspawn connection', () => {
  const settings = (changes: Readonly<Record<string, unknown>>) => {
    const { data } = registered({ provider: 'nspawn', settings: { stateDir: '/srv/hosts', ...changes } });
    return nspawnKind({}).open({ ...data, registration: 'event-1' }, undefined);
  };

  it.each([
    [{ networkCidr: '192.168.1.0/24' }, 'networkCidr'],
    [{ stateDir: 'somewhere' }, 'stateDir'],
    [{ mirror: '/a:b' }, 'mirror'],
    [{ zones: [] }, 'zones'],
  ])('cannot be opened with %j, and its message names the setting', (changes, field) => {
    const refusal = settings(changes);
    expect(refusal).toMatchObject({ code: 'connection.settings-invalid' });
    expect(isRefusal(refusal) && refusal.message).toContain(field);
  });
});

describe('the capacity of the machine', () => {
  const GIB = 1_024 ** 3;
  const group = { name: 'default.demo.local' } as never;
  const provider = (changes: Partial<NspawnOptions>): InfrastructureProvider =>
    new NspawnProvider({
      connection: NAME,
      local: () => {
        throw new Error('no host is made here');
      },
      ...{ cidr: '198.18.77.0/24', mirror: '/', system: 'debian-13', zones: ['local-1'], profile: undefined },
      disk: () => ({ folder: '/srv/hosts', totalBytes: 100 * GIB, freeBytes: 40 * GIB }),
      watches: () => ({ limit: 128, used: 20 }),
      ...changes,
    });
  const roomFor = (changes: Partial<NspawnOptions>, controlPlanes: number, workers: number) => {
    const specs = Array.from({ length: controlPlanes + workers }, () => 'nspawn.medium');
    return provider(changes).checkCapacity?.({ group, specs, controlPlanes }, new AbortController().signal);
  };

  it('is checked before hosts are created: control planes watch more files than workers', async () => {
    expect(await roomFor({}, 1, 5)).toBeUndefined();
    expect(await roomFor({}, 3, 5)).toMatchObject({
      code: 'connection.machine-full',
      message: expect.stringContaining('Allow more: sysctl -w fs.inotify.max_user_instances='),
    });
  });

  it('is insufficient if the disk is so full that kubelets would evict pods', async () => {
    const disk = () => ({ folder: '/srv/hosts', totalBytes: 100 * GIB, freeBytes: 10 * GIB });
    expect(await roomFor({ disk }, 1, 1)).toMatchObject({
      code: 'connection.machine-full',
      message: expect.stringContaining('the file system of /srv/hosts is 90 % full'),
    });
  });

  it('is that of the future file system of a folder that does not exist yet', () => {
    const room = diskRoom('/no/such/folder/yet');
    expect(room).toMatchObject({ folder: '/no/such/folder/yet', totalBytes: diskRoom('/').totalBytes });
    expect(room.totalBytes).toBeGreaterThan(0);
  });
});
