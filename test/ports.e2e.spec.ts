import type { EventData, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 120_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };

describe.each([{ light: true }, { light: false }])(
  'a cluster whose control plane drops connections of workers to the API (lab), on hosts with light: $light',
  ({ light }) => {
    let system: System;
    const fault = (...items: readonly object[]) => system.lab('PUT', '/v1/faults', { items });

    beforeAll(async () => {
      system = await startSystem({ light });
    }, TIMEOUT_MS);
    afterAll(() => system?.stop(), 60_000);

    it(
      'says so with source, target and port before kubeadm joins, within a minute, and goes on once the port is open [ORBITER 6]',
      async () => {
        await fault({ kind: 'port-dropped', machine: '*-cp-*', port: 6443 });
        const manifest = {
          apiVersion: 'fairlead.dev/v1alpha1',
          kind: 'Cluster',
          metadata: { name: 'split' },
          spec: {
            serviceType: 'single',
            controlPlane: { replicas: 1, ...machines },
            pools: [{ name: 'web', replicas: 1, ...machines }],
          },
        };
        expect((await system.call('PUT', '/ns/default/clusters/split/manifest', manifest)).status).toBe(202);
        const found = await system.until('split', ({ type }) => type === 'BootstrapStepFailed', TIMEOUT_MS);
        const { cause, step } = found.data as EventData<'BootstrapStepFailed'>;
        expect([step, cause.operation]).toEqual(['JoinWorker', 'check ports between nodes']);
        expect(cause.message).toMatch(
          /^split-w-1-\w+ does not reach the API \(.+\) on port 6443: no answer within 5 s/,
        );
        const ready = (await system.events('split')).find(({ type }) => type === 'NetworkReady') as StoredEvent;
        expect(Date.parse(found.meta.time) - Date.parse(ready.meta.time)).toBeLessThan(60_000);
        await fault();
        await system.until('split', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      },
      TIMEOUT_MS * 2,
    );
  },
);
