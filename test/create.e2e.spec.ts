import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StoredEvent } from '@fairlead/contracts';
import { goldenBeside } from '@fairlead/testing/golden';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findKubectl } from './system/kubectl.js';
import { story } from './system/story.js';
import { clusterBody, startSystem, type ApiResponse, type System } from './system/system.js';

const run = promisify(execFile);
const golden = goldenBeside(import.meta.url);
const CREATE_TIMEOUT_MS = 120_000;

/** The order required by the design: each event on the left must precede every one on the right. */
const ORDER: readonly (readonly [string, string])[] = [
  ['ClusterRequested', 'ClusterAccepted'],
  ['ClusterAccepted', 'VmsPlanned'],
  ['VmsPlanned', 'VmCreated'],
  ['VmCreated', 'VmsCreated'],
  ['VmsCreated', 'LoadBalancerReady'],
  ['LoadBalancerReady', 'ControlPlaneInitialized'],
  ['VmsCreated', 'DesiredVersionsSet'],
  ['NodeInitialized', 'ControlPlaneInitialized'],
  ['NodeBootstrapped', 'ControlPlaneInitialized'],
  ['ControlPlaneInitialized', 'NetworkReady'],
  ['NetworkReady', 'ControlPlaneJoined'],
  ['ControlPlaneJoined', 'ControlPlaneReady'],
  ['NetworkReady', 'WorkerJoined'],
  ['ControlPlaneReady', 'AddonInstalled'],
  ['WorkerJoined', 'ClusterReady'],
  ['NodeReady', 'ClusterReady'],
  ['AddonInstalled', 'ClusterReady'],
];

describe('one request becomes a running cluster', () => {
  let system: System;
  let events: StoredEvent[];
  let kubeconfig: string;
  let kubectl: (...args: string[]) => Promise<string>;

  beforeAll(async () => {
    system = await startSystem({ light: false, durable: true });
    const answer = await system.call(
      'POST',
      '/ns/default/clusters',
      clusterBody('demo', { controlPlanes: 3, workers: 2 }),
    );
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toMatch(/\/ns\/default\/clusters\/demo$/);
    await system.until('demo', ({ type }) => type === 'ClusterReady' || type === 'ClusterFailed', CREATE_TIMEOUT_MS);
    // Events after Ready (such as the end of the agents' permission to change their nodes) are not part of the
    // creation.
    const log = await system.events('demo');
    events = log.slice(0, log.findIndex(({ type }) => type === 'ClusterReady') + 1);
    kubeconfig = join(system.environment.dataDir, 'demo.kubeconfig');
    const read: ApiResponse<string> = await system.call('GET', '/ns/default/clusters/demo/kubeconfig');
    writeFileSync(kubeconfig, read.body, { mode: 0o600 });
    const program = await findKubectl();
    kubectl = async (...args) =>
      (await run(program, ['--kubeconfig', kubeconfig, ...args], { timeout: 60_000 })).stdout;
  }, CREATE_TIMEOUT_MS + 120_000);

  afterAll(() => system?.stop(), 60_000);

  it('has the history that the design describes [CB-Ladybug 18]', () => {
    for (const [before, after] of ORDER) {
      const last = events.map(({ type }) => type).lastIndexOf(before as StoredEvent['type']);
      const first = events.findIndex(({ type }) => type === after);
      expect([before, after, last >= 0 && first > last]).toEqual([before, after, true]);
    }
    // An agent checks its certificates by its own clock: on a slow machine before the cluster is Ready.
    golden('create-3-2.story.golden', story(events.filter(({ type }) => type !== 'CertificatesReported')));
  });

  it('has one cause chain from the request to Ready', () => {
    const byId = new Map(events.map((event) => [event.meta.id, event]));
    const ready = events.find(({ type }) => type === 'ClusterReady');
    const chain: string[] = [];
    for (let event = ready; event !== undefined; event = byId.get(event.meta.causationId)) chain.push(event.type);
    expect(chain.at(-1)).toBe('ClusterRequested');
    expect(
      new Set(events.filter(({ meta }) => !meta.context.startsWith('node-')).map(({ meta }) => meta.correlationId))
        .size,
    ).toBe(1);
  });

  it('answers kubectl with five Ready nodes of the requested version [CB-Ladybug 19, CB-Ladybug 20]', async () => {
    const nodes = JSON.parse(await kubectl('get', 'nodes', '-o', 'json')) as {
      items: { status: { conditions: { type: string; status: string }[]; nodeInfo: { kubeletVersion: string } } }[];
    };
    expect(nodes.items).toHaveLength(5);
    expect(new Set(nodes.items.map(({ status }) => status.nodeInfo.kubeletVersion))).toEqual(new Set(['v1.34.4']));
    expect(JSON.parse(await kubectl('version', '-o', 'json'))).toMatchObject({
      serverVersion: { gitVersion: 'v1.34.4' },
    });
    expect(
      nodes.items.every(({ status }) =>
        status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      ),
    ).toBe(true);
  });

  it('has an endpoint of the service `kubernetes` for each control plane, with its own address [CB-Ladybug 17]', async () => {
    const created = events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines : []));
    const own = created.flatMap(({ role, privateIp }) => (role === 'control-plane' ? [privateIp] : []));
    const path = 'jsonpath={.subsets[*].addresses[*].ip}';
    expect((await kubectl('get', 'endpoints', 'kubernetes', '-o', path)).split(' ').sort()).toEqual(own.sort());
    expect(own).toHaveLength(3);
  });

  it('spreads a Deployment of ten replicas over the workers', async () => {
    const manifest = join(system.environment.dataDir, 'web.yaml');
    writeFileSync(
      manifest,
      JSON.stringify({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: {
          replicas: 10,
          selector: { matchLabels: { app: 'web' } },
          template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'nginx' }] } },
        },
      }),
    );
    await kubectl('apply', '-f', manifest);
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
    const pods = JSON.parse(await kubectl('get', 'pods', '-l', 'app=web', '-o', 'json')) as {
      items: { spec: { nodeName: string } }[];
    };
    const perNode = new Map<string, number>();
    for (const { spec } of pods.items) perNode.set(spec.nodeName, (perNode.get(spec.nodeName) ?? 0) + 1);
    expect([...perNode.keys()].every((node) => node.startsWith('demo-w-'))).toBe(true);
    expect([...perNode.values()]).toEqual([5, 5]);
  });

  it('uses the load balancer in the kubeconfig and in the certificates, and answers there while the initial control plane is off [CB-Ladybug 15]', async () => {
    const balancer = events.find((event) => event.type === 'LoadBalancerReady');
    const address = balancer?.type === 'LoadBalancerReady' ? `https://${balancer.data.host}:${balancer.data.port}` : '';
    expect(readFileSync(kubeconfig, 'utf8')).toContain(address);
    const created = events.find((event) => event.type === 'VmsCreated');
    const leader = created?.type === 'VmsCreated' ? created.data.machines.find((machine) => machine.leader) : undefined;
    await system.lab('POST', `/v1/machines/${leader?.providerId.split('/').at(-1)}/power`, { action: 'stop' });
    expect(await kubectl('get', 'nodes', '-o', 'name')).toContain('node/demo-cp-2');
    await system.lab('POST', `/v1/machines/${leader?.providerId.split('/').at(-1)}/power`, { action: 'start' });
  });

  it('leaves nothing but its history when it is deleted', async () => {
    const asked = await system.call('DELETE', '/ns/default/clusters/demo');
    expect(asked.status).toBe(202);
    const gone = await system.until('demo', ({ type }) => type === 'ClusterDeleted', 60_000);
    expect(await system.standing()).toEqual({ clusters: 0, groups: 0, loadBalancers: 0, machines: 0 });
    expect((await system.call('GET', `/ns/default/clusters/demo?minSeq=${gone.meta.seq}`)).status).toBe(404);
    const listed = await system.call<{ items: unknown[] }>('GET', '/ns/default/clusters');
    expect(listed.body.items).toEqual([]);
    expect((await system.events('demo')).length).toBeGreaterThan(events.length);
  });
});
