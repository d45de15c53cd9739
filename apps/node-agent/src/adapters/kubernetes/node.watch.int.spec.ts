import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, newFolder } from '@fairlead/testing';
import { afterEach, expect, it } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KubernetesApi } from '../../../test/kubernetes.api.js';
import { MemoryHost } from '../../../test/memory.host.js';
import type { HostPort } from '../../node/host.ports.js';
import { sharedMetronome } from '../../time/metronome.js';
import { realHost } from '../host/real.host.js';
import { KubernetesNodeWatch, type NodeWatchOptions } from './node.watch.js';

const NODE = 'shop-w-1-aaaaa';
const PEM = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const LOOKED_MS = 3_000;

const watchesOf = (api: KubernetesApi): readonly string[] =>
  api.requests.filter((request) => request.endsWith('WATCH /api/v1/nodes'));
const readsOf = (api: KubernetesApi): readonly string[] =>
  api.requests.filter((request) => request.endsWith('GET /api/v1/nodes'));

let stop: () => Promise<void>;
let hostChanged: () => void;

afterEach(() => stop());

const joinedHost = async (api: KubernetesApi): Promise<HostPort> => {
  const host = new MemoryHost();
  host.files.set('/etc/kubernetes/kubelet.conf', api.kubeconfig(PEM));
  host.files.set(PEM, await api.clientPem());
  return host;
};

interface FollowOptions {
  readonly watchSeconds?: number;
  readonly host?: HostPort;
  readonly metronome?: NodeWatchOptions['metronome'];
}

const follow = async (api: KubernetesApi, options: FollowOptions = {}): Promise<string[]> => {
  const { watchSeconds, host = await joinedHost(api), metronome = sharedMetronome } = options;
  const views: string[] = [];
  const watch = new KubernetesNodeWatch(
    {
      node: NODE,
      host,
      metronome,
      random: () => 0.5,
      log: () => undefined,
      ...(watchSeconds === undefined ? {} : { watchSeconds }),
    },
    {
      onView: (view) => void views.push(view === undefined ? 'none' : view.ready ? 'ready' : 'not ready'),
      metadata: () => ({ labels: {}, annotations: {} }),
    },
  );
  hostChanged = () => watch.hostChanged();
  stop = async () => {
    watch.stop();
    await api.stop();
  };
  return views;
};

it('a watch that the server ends at its timeout resumes from its last version, without reading the Node object again', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, false, 'v1.34.4');
  const views = await follow(api, { watchSeconds: 11 });
  await eventually(() => views.includes('not ready'));
  await eventually(() => watchesOf(api).length === 2);
  expect(readsOf(api)).toHaveLength(1);
  api.setNode(NODE, true, 'v1.34.4');
  await eventually(() => views.includes('ready'));
  expect(views).toEqual(['not ready', 'ready']);
}, 40_000);

it('changes between two watches are seen by the next one', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, false, 'v1.34.4');
  const views = await follow(api);
  await eventually(() => views.includes('not ready'));
  await api.stop();
  api.setNode(NODE, true, 'v1.34.4');
  await api.start();
  await eventually(() => views.includes('ready'));
});

it('a change of the host ends the wait for an API server that was away, such as one that an upgrade has restarted', async () => {
  const api = await KubernetesApi.create(NODE);
  const waits: number[] = [];
  const metronome = { after: (ms: number) => (waits.push(ms), () => undefined) };
  await api.start();
  const host = await joinedHost(api);
  await api.stop();
  const views = await follow(api, { host, metronome });
  await eventually(() => waits.length === 1);
  await api.start();
  api.setNode(NODE, true, 'v1.35.4');
  expect(views).toEqual([]);
  hostChanged();
  await eventually(() => views.includes('ready'));
});

it('the Node object is read with increasing backoff while the server ends every watch at once, and is still seen', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, false, 'v1.34.4');
  api.refusesWatches = true;
  const views = await follow(api);
  await eventually(() => views.includes('not ready'));
  const before = api.requests.length;
  await sleep(LOOKED_MS);
  // Each attempt is a GET and a watch; without a backoff there were hundreds.
  expect(api.requests.length - before).toBeLessThanOrEqual(14);
  api.setNode(NODE, true, 'v1.34.4');
  await eventually(() => views.includes('ready'));
});

it('a join is detected when kubelet.conf is written, also if its folder did not exist before', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, true, 'v1.34.4');
  const root = newFolder('host-');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write(PEM, await api.clientPem());
  write('/etc/hostname', NODE);
  const waits: number[] = [];
  const views = await follow(api, {
    host: realHost(root),
    metronome: { after: (ms) => (waits.push(ms), () => undefined) },
  });
  await eventually(() => waits.length > 0);
  write('/etc/kubernetes/kubelet.conf', api.kubeconfig(PEM));
  await eventually(() => views.includes('ready'));
});

it('kubelet.conf is polled if its folder cannot be watched', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, true, 'v1.34.4');
  const host = new MemoryHost();
  const views = await follow(api, { host });
  await sleep(LOOKED_MS / 10);
  host.files.set(PEM, await api.clientPem());
  host.files.set('/etc/kubernetes/kubelet.conf', api.kubeconfig(PEM));
  await eventually(() => views.includes('ready'));
});

it('a Node object that does not exist yet is seen once it is created, without another request', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  const views = await follow(api);
  await eventually(() => watchesOf(api).length === 1);
  api.setNode(NODE, true, 'v1.34.4');
  await eventually(() => views.includes('ready'));
  expect(readsOf(api)).toHaveLength(1);
});
