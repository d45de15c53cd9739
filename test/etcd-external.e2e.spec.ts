import type { StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const CLUSTER = '/ns/default/clusters/outside';

const bodyOf = (controlPlanes: number, name = 'outside'): object => {
  const body = clusterBody(name, { controlPlanes, workers: 1 }) as { config: { kubernetes: object } };
  return { ...body, config: { kubernetes: { ...body.config.kubernetes, etcd: 'external' } } };
};

interface Refused {
  readonly errors?: readonly { readonly code: string }[];
  readonly code?: string;
}

/** Matches the last of this many. */
const last = (type: StoredEvent['type'], count: number): ((event: StoredEvent) => boolean) => {
  let seen = 0;
  return (event) => {
    if (event.type === type) seen += 1;
    return seen === count;
  };
};

const TRIES_MAX = 20;

const answered = async (ask: () => Promise<unknown>, tries = TRIES_MAX): Promise<void> => {
  try {
    await ask();
  } catch (error) {
    if (tries === 1) throw error;
    await sleep(500);
    await answered(ask, tries - 1);
  }
};

/**
 * Hosts of the lab, with and without the real step scripts: units, certificates, etcdctl and kubeadm are used as on any
 * host.
 */
describe.each([{ light: true }, { light: false }])('an external etcd (light lab: $light)', ({ light }) => {
  let system: System;
  let events: readonly StoredEvent[];
  let kubernetes: KubernetesClient;

  const refusal = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await system.call<Refused>(method, path, body);
    return `${answer.status} ${JSON.stringify(answer.body)}`;
  };

  const make = (name: string): Promise<unknown> => kubernetes.core.createNamespace({ body: { metadata: { name } } });

  beforeAll(async () => {
    system = await startSystem({ light, env: { UPGRADE_PASS_INTERVAL_MS: '200' } });
    expect(await refusal('POST', '/ns/default/clusters', bodyOf(1))).toMatch(/^400 .*cluster\.etcd-external-count/);
    expect((await system.call('POST', '/ns/default/clusters', bodyOf(3))).status).toBe(202);
    await system.until('outside', last('NodeBootstrapped', 4), TIMEOUT_MS);
    // During the next step: an interrupted step is repeated.
    system.kill('bootstrap-svc');
    const over = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';
    await system.until('outside', over, TIMEOUT_MS);
    events = await system.events('outside');
    const { body: kubeconfig } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`);
    kubernetes = new KubernetesClient('outside', kubeconfig, () => undefined);
  }, TIMEOUT_MS + 60_000);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it('has a healthy member on each control plane before kubeadm begins, despite a kill of bootstrap-svc [CB-Ladybug 22]', () => {
    const types = events.map(({ type }) => type);
    expect(types).toContain('ClusterReady');
    expect(types.filter((type) => type === 'EtcdReady')).toHaveLength(1);
    expect(types.indexOf('EtcdReady')).toBeGreaterThan(types.lastIndexOf('NodeBootstrapped'));
    expect(types.indexOf('EtcdReady')).toBeLessThan(types.indexOf('ControlPlaneInitialized'));
    const ready = events.find((event) => event.type === 'EtcdReady');
    const created = events.find((event) => event.type === 'VmsCreated');
    if (ready?.type !== 'EtcdReady' || created?.type !== 'VmsCreated') throw new Error('the story is not whole');
    const controlPlanes = created.data.machines.filter(({ role }) => role === 'control-plane');
    expect(ready.data.members).toEqual(
      controlPlanes.map(({ name, privateIp }) => ({ node: name, address: privateIp })),
    );
  });

  it('reveals none of its keys in the log', () => {
    expect(JSON.stringify(events)).not.toContain('PRIVATE KEY');
  });

  it('has no etcd pod, and four Ready nodes', async () => {
    const { items: pods } = await kubernetes.core.listNamespacedPod({ namespace: 'kube-system' });
    const components = pods.map(({ metadata }) => metadata?.labels?.['component']);
    expect(components.filter((component) => component === 'kube-apiserver')).toHaveLength(3);
    expect(components).not.toContain('etcd');
    const { items: nodes } = await kubernetes.core.listNode();
    expect(nodes).toHaveLength(4);
  });

  it('continues with two of three members, and stops with one', async () => {
    const machines = events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines : []));
    const others = machines.filter(({ role, leader }) => role === 'control-plane' && !leader);
    const power = (machine: (typeof machines)[number] | undefined, action: string): Promise<unknown> =>
      system.lab('POST', `/v1/machines/${machine?.providerId.split('/').at(-1)}/power`, { action });
    await power(others[0], 'stop');
    // The first connection may go to the API server that has just stopped.
    await answered(() => make('two-of-three'));
    await power(others[1], 'stop');
    await expect(make('one-of-three')).rejects.toThrow();
    for (const machine of others) await power(machine, 'start');
    await answered(() => make('three-of-three'));
  }, 60_000);

  it('leaves nothing when it is deleted', async () => {
    expect((await system.call('DELETE', CLUSTER)).status).toBe(202);
    await system.until('outside', ({ type }) => type === 'ClusterDeleted', 60_000);
    expect(await system.standing()).toEqual({ clusters: 0, groups: 0, loadBalancers: 0, machines: 0 });
  }, 90_000);
});

it(
  'an external etcd of five that does not start fails the creation with its reason; a retry continues, even after kubeadm is interrupted later',
  async () => {
    const system = await startSystem({ light: false });
    const failing = (...items: readonly object[]): Promise<unknown> => system.lab('PUT', '/v1/faults', { items });
    const over = (after: number) => (event: StoredEvent) =>
      event.meta.seq > after && (event.type === 'ClusterReady' || event.type === 'ClusterFailed');
    try {
      const message = 'Failed to restart fairlead-etcd.service: Transaction is destructive.';
      const command = 'systemctl restart --no-block fairlead-etcd.service';
      await failing({ kind: 'command-failure', machine: 'broken-cp-2*', command, message });
      expect((await system.call('POST', '/ns/default/clusters', bodyOf(5, 'broken'))).status).toBe(202);
      const failed = await system.until('broken', over(0), TIMEOUT_MS);
      expect(failed.type === 'ClusterFailed' && failed.data).toMatchObject({
        step: 'SetupExternalEtcd',
        reason: 'ExternalEtcdFailed',
        cause: { message: expect.stringContaining(message) },
      });
      await failing(
        { kind: 'command-failure', command: 'kubeadm init --config*', message: 'no init', times: 1 },
        { kind: 'command-failure', machine: 'broken-cp-*', command: 'kubeadm join*', message: 'no join', times: 1 },
      );
      expect((await system.call('POST', '/ns/default/clusters/broken/retry')).status).toBe(202);
      const end = await system.until('broken', over(failed.meta.seq), TIMEOUT_MS);
      expect(end.type).toBe('ClusterReady');
      const events = await system.events('broken');
      const words = events.flatMap((event) => (event.type === 'BootstrapStepFailed' ? [event.data.cause.message] : []));
      for (const said of ['no init', 'no join']) expect(words).toContainEqual(expect.stringContaining(said));
      const ready = events.flatMap((event) => (event.type === 'EtcdReady' ? [event.data.members.length] : []));
      expect(ready).toEqual([5]);
    } finally {
      await system.stop();
    }
  },
  2 * TIMEOUT_MS,
);
