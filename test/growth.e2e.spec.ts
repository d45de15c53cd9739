import type { StoredEvent } from '@fairlead/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type ClusterView, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;

interface Shown extends ClusterView {
  readonly nodes: readonly { readonly name: string; readonly role: string }[];
}

interface Operation {
  readonly kind: string;
  readonly phase: string;
  readonly message: string;
}

describe('failed scaling', () => {
  let system: System;
  const path = '/ns/default/clusters/grow';

  const view = async (): Promise<Shown> => {
    const minSeq = (await system.events('grow')).at(-1)?.meta.seq ?? 0;
    return (await system.call<Shown>('GET', `${path}?minSeq=${minSeq}`)).body;
  };
  const lastSeq = async (): Promise<number> => (await system.events('grow')).at(-1)?.meta.seq ?? 0;
  const after = (seq: number, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('grow', (event) => event.meta.seq > seq && desired(event), TIMEOUT_MS);
  const faults = (...items: readonly object[]) => system.lab('PUT', '/v1/faults', { items });
  const add = (onFailure?: string) =>
    system.call('POST', `${path}/nodes`, {
      worker: [{ connection: 'lab', count: 1, spec: 'lab.medium' }],
      ...(onFailure === undefined ? {} : { onFailure }),
    });
  const machines = async (): Promise<number> => (await system.standing())['machines'] ?? 0;
  const operations = async (): Promise<readonly Operation[]> => {
    const { body } = await system.call<{ items: Operation[] }>('GET', `${path}/operations?minSeq=${await lastSeq()}`);
    return body.items;
  };
  const provisioned = async (nodes: number): Promise<void> => {
    const { status, nodes: shown } = await view();
    expect(status.phase).toBe('Provisioned');
    expect(shown).toHaveLength(nodes);
    expect(await machines()).toBe(nodes);
  };
  const isReady = ({ type }: StoredEvent): boolean => type === 'ClusterReady';

  beforeAll(async () => {
    system = await startSystem({ light: true, env: { SSH_TRIES_MAX: '3', SSH_DEADLINE_MS: '5000' } });
    const asked = clusterBody('grow', { controlPlanes: 1, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', asked)).status).toBe(202);
    await system.until('grow', isReady, TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);
  afterEach(() => system.lab('DELETE', '/v1/faults'));

  it(
    'a provider that fails while nodes are added leaves the cluster usable, and no machine behind',
    async () => {
      await faults({ kind: 'boot-failure', machine: 'grow-w-*', message: 'InsufficientInstanceCapacity' });
      const seq = await lastSeq();
      expect((await add()).status).toBe(202);
      await after(seq, ({ type }) => type === 'VmsFailed');
      await after(seq, ({ type }) => type === 'VmDeleted');
      await provisioned(2);
      expect((await view()).status.message).toContain('InsufficientInstanceCapacity');
      expect((await operations()).at(-1)).toMatchObject({ kind: 'add-nodes', phase: 'Failed' });
      await system.lab('DELETE', '/v1/faults');
      const again = await lastSeq();
      expect((await add()).status).toBe(202);
      await after(again, isReady);
      await provisioned(3);
    },
    TIMEOUT_MS,
  );

  it(
    'machines of a failed request that were kept are created by a retry, and a kept request can be abandoned',
    async () => {
      const nodes = (await view()).nodes.length;
      await faults({ kind: 'boot-failure', machine: 'grow-w-*', message: 'InsufficientInstanceCapacity' });
      const seq = await lastSeq();
      expect((await add('keep')).status).toBe(202);
      await after(seq, ({ type }) => type === 'VmsFailed');
      await system.lab('DELETE', '/v1/faults');
      const failedAt = await lastSeq();
      expect((await system.call('POST', `${path}/retry`)).status).toBe(202);
      await after(failedAt, isReady);
      await provisioned(nodes + 1);
      expect((await operations()).at(-1)).toMatchObject({ kind: 'retry', phase: 'Succeeded' });

      await faults({ kind: 'ssh-never', machine: 'grow-w-*' });
      const second = await lastSeq();
      expect((await add('keep')).status).toBe(202);
      await after(second, ({ type }) => type === 'NodesFailed');
      const shown = await view();
      expect(shown.status).toMatchObject({ phase: 'Provisioned', reason: 'BootstrapFailed' });
      expect((await system.call('POST', `${path}/nodes/abandon`)).status).toBe(202);
      await after(second, ({ type }) => type === 'VmDeleted');
      await provisioned(nodes + 1);
    },
    TIMEOUT_MS,
  );

  it(
    'a worker that cannot join does not fail the cluster, and is removed with its machine [CB-Ladybug 29]',
    async () => {
      const nodes = (await view()).nodes.length;
      await faults({ kind: 'command-failure', machine: 'grow-w-*', command: 'kubeadm join*', message: 'no such host' });
      const seq = await lastSeq();
      expect((await add()).status).toBe(202);
      const failed = await after(seq, ({ type }) => type === 'NodesFailed');
      expect(failed.type === 'NodesFailed' && failed.data.cause.message).toContain('no such host');
      await after(seq, ({ type }) => type === 'VmDeleted');
      expect((await system.events('grow')).some(({ type }) => type === 'ClusterFailed')).toBe(false);
      await provisioned(nodes);
    },
    TIMEOUT_MS,
  );

  it(
    'a machine that the provider does not delete is shown, does not block later requests, and is deleted by a retry',
    async () => {
      const { nodes } = await view();
      const worker = nodes.find(({ role }) => role === 'worker')?.name ?? '';
      await faults({ kind: 'delete-failure', machine: worker, message: 'termination protection' });
      const seq = await lastSeq();
      expect((await system.call('DELETE', `${path}/nodes/${worker}`)).status).toBe(202);
      const failed = await after(seq, ({ type }) => type === 'VmDeletionFailed');
      expect(failed.data).toMatchObject({ machines: [worker], cause: { message: 'termination protection' } });
      expect((await view()).status.message).toContain('termination protection');
      const before = await lastSeq();
      expect((await add()).status).toBe(202);
      await after(before, isReady);
      await system.lab('DELETE', '/v1/faults');
      expect((await system.call('POST', `${path}/retry`)).status).toBe(202);
      await after(before, (event) => event.type === 'VmDeleted' && event.data.name === worker);
      await provisioned(nodes.length);
      expect((await view()).status).toMatchObject({ reason: '', message: '' });
    },
    TIMEOUT_MS,
  );

  it(
    'a cluster whose machine the provider does not delete reports that during its deletion, and is deleted by a retry',
    async () => {
      await faults({ kind: 'delete-failure', message: 'termination protection', machine: 'grow-*' });
      const seq = await lastSeq();
      expect((await system.call('DELETE', path)).status).toBe(202);
      await after(seq, ({ type }) => type === 'VmDeletionFailed');
      expect((await view()).status).toMatchObject({ phase: 'Deleting', reason: 'MachineDeletionFailed' });
      await system.lab('DELETE', '/v1/faults');
      expect((await system.call('POST', `${path}/retry`)).status).toBe(202);
      await after(seq, ({ type }) => type === 'ClusterDeleted');
      expect(await system.standing()).toMatchObject({ machines: 0, loadBalancers: 0 });
    },
    TIMEOUT_MS,
  );
});
