import type { ClusterView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 120_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const CLUSTER = '/ns/default/clusters/walled';

// The lab does not filter packets: apps/node-agent/src/network/firewall.int.spec.ts tests the rules with the kernel.
describe.each([{ light: true }, { light: false }])(
  'a cluster that declares a firewall, on hosts with light: $light',
  ({ light }) => {
    let system: System;
    const manifest = (replicas: number, network: object) => ({
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'walled' },
      spec: {
        serviceType: 'single',
        controlPlane: { replicas: 1, ...machines },
        pools: [{ name: 'web', replicas, ...machines }],
        ...network,
      },
    });
    const NETWORK = { firewall: { ssh: ['198.51.100.0/24'] }, sshd: { hardening: true } };
    const put = (body: object) => system.call('PUT', `${CLUSTER}/manifest`, body);
    const log = (): Promise<readonly StoredEvent[]> => system.events('walled');
    const last = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
    const applied = async (count: number, after: number): Promise<void> => {
      let seen = 0;
      await system.until(
        'walled',
        ({ type, meta }) => type === 'NodeNetworkApplied' && meta.seq > after && (seen += 1) >= count,
        TIMEOUT_MS,
      );
    };

    beforeAll(async () => {
      system = await startSystem({ light });
      expect((await put(manifest(1, NETWORK))).status).toBe(202);
      await system.until('walled', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    }, TIMEOUT_MS);
    afterAll(() => system?.stop(), 60_000);

    it(
      'has it on every node from its creation',
      async () => {
        await applied(2, 0);
        const failures = (await log()).filter(({ type }) => type === 'NodeNetworkFailed');
        expect(failures.map(({ data }) => data)).toEqual([]);
        const { body } = await system.call<ClusterView>('GET', `${CLUSTER}?minSeq=${await last()}`);
        expect(body.conditions.find(({ type }) => type === 'NetworkApplied')?.status).toBe('True');
      },
      TIMEOUT_MS,
    );

    it(
      'opens its nodes to a new one, keeps the firewall when it is left out, and removes all of it when it is disabled',
      async () => {
        const before = await last();
        expect((await put(manifest(2, NETWORK))).status).toBe(202);
        await applied(3, before);
        await system.until('walled', ({ type, meta }) => type === 'ClusterReady' && meta.seq > before, TIMEOUT_MS);
        const joined = await last();
        const left = await put(manifest(2, { sshd: NETWORK.sshd }));
        expect(left.body).toMatchObject({ spec: { firewall: NETWORK.firewall }, plan: [] });
        expect((await put(manifest(2, { firewall: { enabled: false } }))).status).toBe(200);
        await applied(3, joined);
      },
      TIMEOUT_MS,
    );
  },
);
