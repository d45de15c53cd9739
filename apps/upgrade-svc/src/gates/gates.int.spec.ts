import { releaseOf, type GateName, type NodeName } from '@fairlead/contracts';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { knownCluster } from '../../test/cluster.state.fixtures.js';
import {
  controlPlane,
  startLabCluster,
  VERSION,
  worker,
  type LabCluster,
} from '../../../../libs/kubernetes/test/lab.cluster.js';
import { CheckedHttp } from '@fairlead/service-kit/http';
import { Etcd } from '../etcd/etcd.effects.js';
import { ClusterSurvey } from '../preflight/cluster.survey.effects.js';
import { parseRanges } from '@fairlead/service-kit/http';
import type { GateLook, Verdict } from './gate.js';
import { ownGate } from './gates.js';
import { askUserGate } from './user.gates.js';

const CP = controlPlane(2);
const NODES = [1, 2, 3].map(controlPlane).concat([1, 2].map(worker));

describe('The gates of a rollout', () => {
  let lab: LabCluster;
  let rests: string[];
  const signal = new AbortController().signal;

  beforeEach(async () => {
    rests = [];
    lab = await startLabCluster({ controlPlanes: 3, workers: 2 });
  });
  afterEach(() => lab.stop());

  const lookAt = (node: string | null, version: string, excused: readonly string[] = []): GateLook => ({
    cluster: lab.cluster,
    etcd: () => new Etcd(lab.cluster, signal).facts(Object.values(knownCluster(...NODES).nodes)),
    survey: new ClusterSurvey({
      store: new MemoryStore(),
      heartbeats: { last: async () => null },
      now: () => new Date(),
      passIntervalMs: 1,
    }),
    known: knownCluster(...NODES),
    excused: excused as readonly NodeName[],
    node: node as NodeName | null,
    software: { kubelet: version.slice(1) },
    release: releaseOf(version),
    rest: async (why) => {
      rests.push(why);
      // Leases of the simulation are renewed every two seconds.
      await sleep(why === 'leases' ? 250 : 1);
    },
  });

  const ask = (gate: GateName, node: string | null = CP, version = VERSION): Promise<Verdict> =>
    ownGate(gate)!(lookAt(node, version));

  it.each([
    'api-answers',
    'cluster-healthy',
    'etcd-healthy',
    'etcd-quorum',
    'etcd-leader',
    'static-pods',
    'api-server',
    'etcd-member',
    'leases',
    'node-ready',
    'daemonsets',
    'kube-proxy',
    'dns',
  ] as const)('%s passes on a healthy cluster', async (gate) => {
    expect(await ask(gate)).toMatchObject({ holds: true });
  });

  it('cluster-healthy is evaluated once before each node, and twice before the first worker', async () => {
    await ask('cluster-healthy', CP);
    await ask('cluster-healthy', worker(1));
    expect(rests).toEqual([]);
    await ask('cluster-healthy', null);
    expect(rests).toEqual(['passes']);
  });

  it('cluster-healthy fails for a node that is not Ready, unless it is excused', async () => {
    lab.simulated.setKubelet(worker(2), { running: false });
    await eventually(
      () => lab.cluster.node(worker(2)),
      (node) => node?.ready === false,
    );
    expect(await ask('cluster-healthy')).toMatchObject({
      holds: false,
      message: expect.stringContaining(`nodes are not Ready: ${worker(2)} (`),
    });
    const excused = lookAt(CP, VERSION, [worker(2)]);
    expect(await ownGate('cluster-healthy')!(excused)).toMatchObject({ holds: true });
  });

  it('etcd-healthy, etcd-quorum and etcd-member fail when members are down [Cluster API 23]', async () => {
    lab.simulated.etcd.set(controlPlane(3), { running: false });
    expect(await ask('etcd-healthy')).toMatchObject({
      holds: false,
      message: expect.stringContaining(controlPlane(3)),
    });
    expect(await ask('etcd-quorum', CP)).toMatchObject({
      holds: false,
      message: expect.stringMatching(/2 healthy of 3 members and would lose its quorum without demo-cp-2/),
    });
    expect(await ownGate('etcd-healthy')!(lookAt(controlPlane(3), VERSION, [controlPlane(3)]))).toMatchObject({
      holds: true,
    });
    // A member that is already down may be removed without an effect.
    expect(await ask('etcd-quorum', controlPlane(3))).toMatchObject({ holds: true });
    expect(await ask('etcd-member', controlPlane(3))).toMatchObject({ holds: false });
  });

  it('etcd-member fails for a lagging member or a learner; etcd-healthy for an alarm', async () => {
    lab.simulated.etcd.set(CP, { behind: 5_000 });
    expect(await ask('etcd-member')).toMatchObject({
      holds: false,
      message: expect.stringContaining('5000 entries behind'),
    });
    lab.simulated.etcd.set(CP, { behind: 0, alarm: 'NOSPACE' });
    expect(await ask('etcd-healthy')).toMatchObject({ holds: false, message: expect.stringContaining('NOSPACE') });
  });

  it('etcd-leader returns the leading node, read from etcd', async () => {
    lab.simulated.etcd.moveLeader(controlPlane(3));
    expect(await ask('etcd-leader')).toEqual({ holds: true, facts: { leader: controlPlane(3) } });
  });

  it('static-pods fails until all four run the images of the target and are Ready [Cluster API 23]', async () => {
    expect(await ask('static-pods', CP, 'v1.34.4')).toMatchObject({
      holds: false,
      message: expect.stringMatching(/not yet at v1.34.4: .*etcd runs registry.k8s.io\/etcd:3.5.24-0/),
    });
    lab.simulated.setControlPlaneVersion(CP, 'v1.34.4');
    await eventually(
      () => ask('static-pods', CP, 'v1.34.4'),
      (verdict) => verdict.holds,
    );
    expect(await ask('static-pods', controlPlane(1), 'v1.34.4')).toMatchObject({ holds: false });
    // Their version is kubeadm's, even while the kubelet follows in a later pass (C6, G5).
    const software = { kubeadm: '1.34.4', kubelet: VERSION.slice(1) };
    expect(await ownGate('static-pods')!({ ...lookAt(CP, VERSION), software })).toMatchObject({ holds: true });
  });

  it("api-server fails if the node's own API server does not respond, although another one does [Cluster API 23]", async () => {
    await lab.listeners.get(CP)?.close();
    expect(await ask('api-server')).toMatchObject({ holds: false, message: expect.stringContaining('refused') });
    expect(await ask('api-answers')).toMatchObject({ holds: true });
  });

  it('leases holds as soon as both are renewed, and is not evaluated again', async () => {
    const looks = new Map<string, number>();
    const lease = async (name: string) => {
      looks.set(name, (looks.get(name) ?? 0) + 1);
      const movesAt = name === 'kube-scheduler' ? 3 : 2;
      return { name, renewedAt: looks.get(name)! < movesAt ? 'before' : 'after' };
    };
    const look: GateLook = {
      ...lookAt(CP, VERSION),
      cluster: Object.create(lab.cluster, { lease: { value: lease } }),
      rest: async (why) => void rests.push(why),
    };
    expect(await ownGate('leases')!(look)).toMatchObject({ holds: true });
    expect(rests).toEqual(['leases', 'leases']);
  });

  it('leases fails if they are not renewed', async () => {
    const leases = await Promise.all(
      ['kube-controller-manager', 'kube-scheduler'].map(async (name) => [name, await lab.cluster.lease(name)] as const),
    );
    const known = new Map(leases);
    const cluster = Object.create(lab.cluster, { lease: { value: async (name: string) => known.get(name) } });
    expect(await ownGate('leases')!({ ...lookAt(CP, VERSION), cluster })).toMatchObject({
      holds: false,
      message: expect.stringMatching(/the lease of .*kube-scheduler.* is not renewed/),
    });
  });

  it('node-ready fails until the kubelet reports the version of the target', async () => {
    expect(await ask('node-ready', CP, 'v1.34.4')).toMatchObject({
      holds: false,
      message: `${CP} runs kubelet v1.33.13, not v1.34.4`,
    });
    lab.simulated.setKubelet(CP, { running: true, version: 'v1.34.4' });
    expect(await ask('node-ready', CP, 'v1.34.4')).toMatchObject({ holds: true });
  });

  it('daemonsets fails while a DaemonSet pod of the node is not Ready', async () => {
    const template = (app: string) => ({
      metadata: { labels: { app }, annotations: { 'lab.fairlead.dev/behaviour': 'never-ready' } },
      spec: { containers: [{ name: app, image: 'x:1' }] },
    });
    await lab.apply({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'logs', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'logs' } }, template: template('logs') },
    });
    await eventually(
      () => ask('daemonsets', worker(1)),
      (verdict) => !verdict.holds && verdict.message.includes('default/logs-'),
    );
  });

  it("kube-proxy and dns fail while they are not at the target's version, and while they roll out", async () => {
    for (const node of [1, 2, 3].map(controlPlane)) lab.simulated.setControlPlaneVersion(node, 'v1.34.4');
    await eventually(
      () => ask('static-pods', controlPlane(3), 'v1.34.4'),
      (verdict) => verdict.holds,
    );
    // Every pod of them is Ready, with the previous version.
    expect(await ask('kube-proxy', null, 'v1.34.4')).toMatchObject({
      holds: false,
      message: 'kube-proxy is at v1.33.13, and the target brings v1.34.4',
    });
    expect(await ask('dns', null, 'v1.34.4')).toMatchObject({
      holds: false,
      message: 'coredns is at v1.12.0, and the target brings v1.12.1',
    });
    lab.simulated.setVersion('v1.34.4');
    expect(await ask('kube-proxy', null, 'v1.34.4')).toMatchObject({
      holds: false,
      message: expect.stringMatching(/has not seen the new|is new in \d of 5 pods/),
    });
    for (const gate of ['kube-proxy', 'dns'] as const)
      await eventually(
        () => ask(gate, null, 'v1.34.4'),
        (verdict) => verdict.holds,
      );
  });

  it('kube-proxy and dns may keep their version if a control plane is held back, as with kubeadm', async () => {
    lab.simulated.setControlPlaneVersion(CP, 'v1.34.4');
    await eventually(
      () => ask('static-pods', CP, 'v1.34.4'),
      (verdict) => verdict.holds,
    );
    const behind = { controlPlanesBehind: [controlPlane(1), controlPlane(3)] };
    expect(await ask('kube-proxy', null, 'v1.34.4')).toMatchObject({ holds: true, facts: behind });
    expect(await ask('dns', null, 'v1.34.4')).toMatchObject({ holds: true, facts: behind });
  });

  it('kube-proxy does not wait for an excused, unhealthy node', async () => {
    lab.simulated.setKubelet(worker(2), { running: false });
    await eventually(
      () => lab.cluster.podsOn(worker(2)),
      (pods) => pods.every(({ ready }) => !ready),
    );
    expect(await ask('kube-proxy', null)).toMatchObject({
      holds: false,
      message: 'kube-proxy is ready in 4 of 5 pods',
    });
    expect(await ownGate('kube-proxy')!(lookAt(null, VERSION, [worker(2)]))).toMatchObject({ holds: true });
  });
});

describe('User-defined gates', () => {
  let lab: LabCluster;
  let server: Server;
  let status = 200;
  const signal = new AbortController().signal;
  const http = new CheckedHttp({ setting: 'GATE_ADDRESSES_ALLOWED', allowed: parseRanges('127.0.0.0/8').ranges });
  const look = (): Parameters<typeof askUserGate>[1] => ({
    ...{ cluster: lab.cluster, namespace: 'default', http, asked: 'u-spec00/1', signal },
    signer: { sign: async () => ({ why: 'no gate here has a secret' }) },
  });

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 1, workers: 1 });
    server = createServer((_, response) => response.writeHead(status).end('x'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.close();
    await lab.stop();
  });

  it('by HTTP hold if the status is the expected one, and fail for another or none', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const gate = { kind: 'http' as const, name: 'shop', url, status: 200 };
    expect(await askUserGate(gate, look())).toEqual({ holds: true, facts: { status: 200 } });
    status = 503;
    expect(await askUserGate(gate, look())).toMatchObject({ holds: false, message: `${url} answers 503, not 200` });
    server.close();
    server.closeAllConnections();
    expect(await askUserGate(gate, look())).toMatchObject({
      holds: false,
      message: expect.stringContaining(`${url} does not answer: `),
    });
  });

  it('by Job hold once it has succeeded; a failed one is run again', async () => {
    const manifest = {
      ...{ apiVersion: 'batch/v1' as const, kind: 'Job' as const, metadata: { name: 'check' } },
      spec: {
        backoffLimit: 0,
        template: {
          metadata: { annotations: { 'lab.fairlead.dev/behaviour': 'complete' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'check', image: 'x:1' }] },
        },
      },
    };
    const gate = { kind: 'job' as const, name: 'check', namespace: 'default', manifest };
    expect(await askUserGate(gate, look())).toMatchObject({
      holds: false,
      message: expect.stringContaining('has started'),
    });
    await eventually(
      () => askUserGate(gate, look()),
      (verdict) => verdict.holds,
    );
  });

  it('by Job of an earlier release, whose text was not validated, report what is wrong with it', async () => {
    const ask = (manifest: string) =>
      askUserGate({ kind: 'job', name: 'check', namespace: 'default', manifest }, look());
    expect(await ask('5')).toMatchObject({
      holds: false,
      message: 'the Job of the gate check is invalid: it is not an object',
    });
    const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1`).join(', ');
    expect(await ask(`{${keys}}`)).toMatchObject({
      holds: false,
      message: 'the Job of the gate check is invalid: it has more than 16384 characters',
    });
  });
});
