import type { OperationList, StoredEvent } from '@fairlead/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clusterBody, startSystem, type ClusterView, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const ENV = { SSH_TRIES_MAX: '3', SSH_DEADLINE_MS: '5000', INFRA_PROVIDER_TIMEOUT_MS: '10000' };
const ended = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';

/** A proxy that accepts requests and, while it hangs, answers none of them. */
const hangingProxy = async (target: string) => {
  let isHanging = false;
  const server = createServer((asked, answer) => {
    if (isHanging) return;
    const { method = 'GET', url = '/', headers } = asked;
    const passed = request(new URL(url, target), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hangs: (hangs: boolean): void => void (isHanging = hangs),
    stop: (): void => {
      server.closeAllConnections();
      server.close();
    },
  };
};

describe('external failures', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ light: true, env: ENV });
  }, 120_000);
  afterAll(() => system?.stop(), 60_000);
  afterEach(() => system.lab('DELETE', '/v1/faults'));

  const failing = async (name: string, fault: object): Promise<{ end: StoredEvent; view: ClusterView }> => {
    await system.lab('PUT', '/v1/faults', { items: [fault] });
    const asked = await system.call(
      'POST',
      '/ns/default/clusters',
      clusterBody(name, { controlPlanes: 1, workers: 1 }),
    );
    expect(asked.status).toBe(202);
    const end = await system.until(name, ended, TIMEOUT_MS);
    const { body } = await system.call<ClusterView>('GET', `/ns/default/clusters/${name}?minSeq=${end.meta.seq}`);
    return { end, view: body };
  };

  const retried = async (name: string): Promise<StoredEvent[]> => {
    await system.lab('DELETE', '/v1/faults');
    const failedAt = (await system.events(name)).at(-1)?.meta.seq ?? 0;
    const asked = await system.call('POST', `/ns/default/clusters/${name}/retry`);
    expect(asked.status).toBe(202);
    const end = await system.until(name, (event) => ended(event) && event.meta.seq > failedAt, TIMEOUT_MS);
    expect(end.type).toBe('ClusterReady');
    return (await system.events(name)).filter(({ meta }) => meta.seq > failedAt);
  };

  const deleted = async (name: string): Promise<void> => {
    const before = (await system.events(name)).at(-1)?.meta.seq ?? 0;
    expect((await system.call('DELETE', `/ns/default/clusters/${name}`)).status).toBe(202);
    await system.until(name, ({ type, meta }) => type === 'ClusterDeleted' && meta.seq > before, TIMEOUT_MS);
    expect(await system.standing()).toMatchObject({ machines: 0, loadBalancers: 0 });
  };

  it(
    'a machine that fails in the group fails the creation with the provider`s message; a retry creates it [CB-Ladybug 11]',
    async () => {
      const { view } = await failing('boot', {
        kind: 'boot-failure',
        machine: 'boot-w-*',
        message: 'InsufficientInstanceCapacity in lab-1a',
      });
      expect(view.status).toMatchObject({ phase: 'Failed', reason: 'MachineCreationFailed' });
      expect(view.status.message).toContain('InsufficientInstanceCapacity in lab-1a');
      const after = await retried('boot');
      expect(after.filter(({ type }) => type === 'VmCreated').length).toBeGreaterThanOrEqual(1);
      await deleted('boot');
    },
    TIMEOUT_MS,
  );

  it(
    "a host without SSH fails the creation with the node's name; a retry continues from there",
    async () => {
      const { view, end } = await failing('deaf', { kind: 'ssh-never', machine: 'deaf-w-*' });
      expect(view.status).toMatchObject({ phase: 'Failed', reason: 'BootstrapFailed' });
      expect(view.status.message).toMatch(/deaf-w-1/);
      expect(end.type === 'ClusterFailed' && end.data.node).toMatch(/^deaf-w-1/);
      const after = await retried('deaf');
      expect(after.some(({ type }) => type === 'VmCreated')).toBe(false);
      await deleted('deaf');
    },
    TIMEOUT_MS,
  );

  it(
    'a failing kubeadm is quoted in one sentence; a retry runs only it again',
    async () => {
      const { view } = await failing('stuck', {
        kind: 'command-failure',
        machine: 'stuck-cp-*',
        command: 'kubeadm init*',
        message: 'error execution phase wait-control-plane',
      });
      expect(view.status).toMatchObject({ phase: 'Failed', reason: 'ControlPlaneInitFailed' });
      expect(view.status.message).toContain('error execution phase wait-control-plane');
      const after = await retried('stuck');
      expect(after.some(({ type }) => type === 'HostReached' || type === 'VmCreated')).toBe(false);
      expect(after.some(({ type }) => type === 'ControlPlaneInitialized')).toBe(true);
      await deleted('stuck');
    },
    TIMEOUT_MS,
  );

  it(
    'a POST below /ladybug after a failed creation deletes its resources, and creates the cluster again [CB-Ladybug 5, CB-Ladybug 27]',
    async () => {
      // The longest name that there is: names that derive from it are shortened.
      const name = 'again'.padEnd(63, 'n');
      const body = { ...clusterBody(name, { controlPlanes: 1, workers: 1 }), serviceType: 'single' };
      const { end } = await failing(name, { kind: 'boot-failure', machine: 'again*-w-*', message: 'no room' });
      expect(await system.standing()).toMatchObject({ machines: 2 });
      await system.lab('DELETE', '/v1/faults');
      expect((await system.call('POST', '/ladybug/ns/default/clusters', body)).status).toBe(202);
      const next = await system.until(name, (event) => ended(event) && event.meta.seq > end.meta.seq, TIMEOUT_MS);
      expect(next.type).toBe('ClusterReady');
      const after = (await system.events(name)).filter(({ meta }) => meta.seq > end.meta.seq);
      const order = ['ClusterRecreationRequested', 'ClusterDeletionRequested', 'ClusterDeleted', 'ClusterRequested'];
      expect(after.map(({ type }) => type as string).filter((type) => order.includes(type))).toEqual(order);
      expect(await system.standing()).toMatchObject({ machines: 2 });
      await deleted(name);
    },
    TIMEOUT_MS,
  );

  it(
    'a deletion during a failing creation cleans up, too',
    async () => {
      await failing('gone', { kind: 'ssh-never', machine: 'gone-*' });
      await deleted('gone');
    },
    TIMEOUT_MS,
  );

  it(
    'a failing kubeadm with onFailure: cleanup leaves no machine, the record with its reason, and a free name [CB-Ladybug 26]',
    async () => {
      const fault = {
        kind: 'command-failure',
        machine: 'tidy-cp-*',
        command: 'kubeadm init*',
        message: 'no init here',
      };
      await system.lab('PUT', '/v1/faults', { items: [fault] });
      const body = { ...clusterBody('tidy', { controlPlanes: 1, workers: 1 }), onFailure: 'cleanup' };
      expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
      await system.until('tidy', ({ type }) => type === 'ClusterDeleted', TIMEOUT_MS);
      expect(await system.standing()).toMatchObject({ machines: 0, loadBalancers: 0 });
      const events = await system.events('tidy');
      const failed = events.find(({ type }) => type === 'ClusterFailed');
      const deletion = events.find(({ type }) => type === 'ClusterDeletionRequested');
      expect(deletion?.meta).toMatchObject({ actor: 'system/gateway', causationId: failed?.meta.id });
      const { body: listed } = await system.call<OperationList>(
        'GET',
        `/ns/default/clusters/tidy/operations?minSeq=${events.at(-1)?.meta.seq}`,
      );
      expect(listed.items).toMatchObject([
        { kind: 'create', phase: 'Failed', message: expect.stringContaining('no init here') },
        { kind: 'delete', phase: 'Succeeded', message: expect.stringContaining('no init here') },
      ]);
      const at = `minSeq=${events.at(-1)?.meta.seq}`;
      const { body: left } = await system.call<ClusterView>('GET', `/ns/default/clusters/tidy?${at}`);
      expect(left).toMatchObject({ nodes: [], status: { phase: 'Failed', reason: 'ControlPlaneInitFailed' } });
      expect(left.status.message).toContain('no init here');
      await system.lab('DELETE', '/v1/faults');
      const ladybug = { ...clusterBody('tidy', { controlPlanes: 1, workers: 1 }), serviceType: 'single' };
      const again = await system.call('POST', '/ladybug/ns/default/clusters', ladybug);
      expect([again.status, again.body]).toEqual([202, expect.objectContaining({ onFailure: 'cleanup' })]);
      const seq = events.at(-1)?.meta.seq ?? 0;
      const next = await system.until('tidy', (event) => ended(event) && event.meta.seq > seq, TIMEOUT_MS);
      expect(next.type).toBe('ClusterReady');
      await deleted('tidy');
    },
    TIMEOUT_MS,
  );

  it(
    'an unknown spec is refused before anything is recorded or created',
    async () => {
      const before = await system.made();
      const body = {
        ...clusterBody('odd', { controlPlanes: 1, workers: 1 }),
        controlPlane: [{ connection: 'lab', count: 1, spec: 'no-such' }],
      };
      const answer = await system.call('POST', '/ns/default/clusters', body);
      expect([answer.status, answer.body]).toEqual([
        422,
        expect.objectContaining({ reason: 'cluster.spec-unknown', field: 'controlPlane[0].spec' }),
      ]);
      expect(await system.made()).toEqual(before);
    },
    TIMEOUT_MS,
  );

  it(
    'a provider that does not answer delays no cluster of another connection, and is used again once it answers [ORBITER 35]',
    async () => {
      const far = await hangingProxy(system.labAccess.url);
      const settings = { endpoint: far.url, token: system.labAccess.token };
      const lab = { provider: 'lab', region: 'lab-1', zone: 'lab-1a', namespaces: ['*'], settings };
      expect((await system.call('PUT', '/connections/far', lab)).status).toBeLessThan(300);
      far.hangs(true);
      const on = (connection: string) => ({ connection, count: 1, spec: 'lab.medium' });
      const bodyOf = (name: string, connection: string): object => ({
        ...clusterBody(name, { controlPlanes: 1, workers: 1 }),
        ...{ controlPlane: [on(connection)], worker: [on(connection)] },
      });
      expect((await system.call('POST', '/ns/default/clusters', bodyOf('distant', 'far'))).status).toBe(202);
      const failed = await system.until('distant', ({ type }) => type === 'InfrastructureStepFailed', TIMEOUT_MS);
      expect(JSON.stringify(failed.data)).toContain('no answer within');
      expect((await system.call('POST', '/ns/default/clusters', bodyOf('close', 'lab'))).status).toBe(202);
      expect((await system.until('close', ended, TIMEOUT_MS)).type).toBe('ClusterReady');
      expect((await system.events('distant')).some(ended)).toBe(false);
      far.hangs(false);
      expect((await system.until('distant', ended, TIMEOUT_MS)).type).toBe('ClusterReady');
      await system.call('DELETE', '/ns/default/clusters/close');
      await deleted('distant');
      far.stop();
    },
    TIMEOUT_MS,
  );
});
