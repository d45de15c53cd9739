import {
  bootstrapKeyRef,
  bootstrapWindowAt,
  declaredOf,
  type ConnectionName,
  type Namespace,
  type PoolName,
  type StoredEvent,
} from '@fairlead/contracts';
import { declaredAfter } from '@fairlead/domain';
import { stored } from '@fairlead/event-sourcing/spec';
import { poolToken } from '@fairlead/service-kit';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, requested, UID } from '../../test/fixtures.js';
import type { Cluster } from './machines.state.js';
import { UserData } from './user.data.effects.js';

const ADMISSION = '0a1b2c3d4e5f';
const NOW_MS = Date.UTC(2026, 0, 31, 12);
const pool = (name: string, bootstrap?: { readonly by: 'userData'; readonly data?: string }) => ({
  ...{ name: name as PoolName, replicas: 1, connection: 'lab' as ConnectionName, machineType: 'lab.small' },
  ...{ rootDisk: { type: 'default', size: 'default' } },
  ...(bootstrap === undefined ? {} : { bootstrap }),
});
const generated = {
  ...{ uid: UID, pool: 'web' as PoolName, connection: 'lab' as ConnectionName, admission: ADMISSION },
  keyRef: bootstrapKeyRef(ADMISSION),
};

const clusterWith = (web: ReturnType<typeof pool>): Cluster => {
  const spec = { ...declaredOf(clusterSpec()), pools: [pool('base'), web] };
  const events: readonly StoredEvent[] = [
    stored(requested(), 1),
    stored({ type: 'ClusterSpecChanged', data: { uid: UID, revision: 1, spec } }, 2),
    stored({ type: 'BootstrapDataGenerated', data: generated }, 3),
  ];
  return { declared: events.reduce(declaredAfter, undefined) } as unknown as Cluster;
};
const ref = { namespace: 'default' as Namespace, uid: UID, spec: clusterSpec() };
const real = (pools: readonly string[]) => ({ pools, simulated: new Set<ConnectionName>() });
const userData = (gatewayUrl: string | undefined, key: string | undefined = 'key', gatewayCa?: string): UserData =>
  new UserData(
    { get: (name) => Promise.resolve(name === bootstrapKeyRef(ADMISSION) ? key : undefined) },
    { now: () => new Date(NOW_MS) },
    { gatewayUrl, gatewayCa },
  );
const commandIn = (data = ''): string =>
  Buffer.from(/echo (\S+) \| base64 -d \| sh/.exec(data)?.[1] ?? '', 'base64').toString('utf8');

describe('the user data of machines', () => {
  const cluster = clusterWith(pool('web', { by: 'userData' }));

  it('contain a valid token of the pool, only for pools that request it', async () => {
    const data = await userData('https://fairlead.example.com').of(cluster, ref, real(['base', 'web', 'web']));
    expect([...data.keys()]).toEqual(['web']);
    expect(data.get('web')).toMatch(/^#cloud-config\n/u);
    const command = commandIn(data.get('web'));
    expect(command).toContain(`FAIRLEAD_JOIN_TOKEN=${poolToken('key', ADMISSION, bootstrapWindowAt(NOW_MS))} sh`);
    expect(command).toContain('curl -fsSL -o "$f" \'https://fairlead.example.com/join/install.sh\'');
    expect(command).not.toContain('--insecure');
  });

  it('trust only the CA of the gateway, if one is configured', async () => {
    const data = await userData('https://10.0.0.1', 'key', 'PEM').of(cluster, ref, real(['web']));
    expect(commandIn(data.get('web'))).toContain(
      'c=$(mktemp) && echo UEVN | base64 -d > "$c" && curl -fsSL --cacert "$c"',
    );
  });

  it('are those in the manifest, with the command in place of the marker', async () => {
    const given = clusterWith(pool('web', { by: 'userData', data: '#!/bin/sh\ndate\n__FAIRLEAD_JOIN__\n' }));
    const data = await userData('https://10.0.0.1').of(given, ref, real(['web']));
    expect(data.get('web')).toMatch(/^#!\/bin\/sh\ndate\necho \S+ \| base64 -d \| sh\n$/u);
  });

  it('are never those of a manifest on simulated machines, where they would run as Fairlead', async () => {
    const given = clusterWith(pool('web', { by: 'userData', data: '#!/bin/sh\ndate\n__FAIRLEAD_JOIN__\n' }));
    const on = { pools: ['web'], simulated: new Set(['lab' as ConnectionName]) };
    await expect(userData('https://10.0.0.1').of(given, ref, on)).rejects.toThrow('simulated machines run no');
    expect((await userData('https://10.0.0.1').of(cluster, ref, on)).size).toBe(1);
  });

  it('do not exist without a gateway address or without the key: no machine is requested', async () => {
    await expect(userData(undefined).of(cluster, ref, real(['web']))).rejects.toThrow(
      'GATEWAY_URL of infra-svc is not set',
    );
    const gone = new UserData(
      { get: () => Promise.resolve(undefined) },
      { now: () => new Date(NOW_MS) },
      { gatewayUrl: 'https://10.0.0.1', gatewayCa: undefined },
    );
    await expect(gone.of(cluster, ref, real(['web']))).rejects.toThrow('the bootstrap data of the pool are gone');
  });
});
