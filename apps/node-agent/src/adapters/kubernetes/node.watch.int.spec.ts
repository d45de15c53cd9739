import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { afterEach, expect, it } from '@jest/globals';
import { KubernetesApi } from '../../../test/kubernetes.api.js';
import { MemoryHost } from '../../../test/memory.host.js';
import { sharedMetronome } from '../../time/metronome.js';
import { KubernetesNodeWatch } from './node.watch.js';

const NODE = 'shop-w-1-aaaaa';
const PEM = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const LOOKED_MS = 3_000;

const watchesOf = (api: KubernetesApi): readonly string[] =>
  api.requests.filter((request) => request.endsWith('GET /api/v1/nodes'));

let stop: () => Promise<void>;

afterEach(() => stop());

const follow = async (api: KubernetesApi, watchSeconds?: number): Promise<string[]> => {
  const host = new MemoryHost();
  host.files.set('/etc/kubernetes/kubelet.conf', api.kubeconfig(PEM));
  host.files.set(PEM, await api.clientPem());
  const views: string[] = [];
  const watch = new KubernetesNodeWatch(
    {
      node: NODE,
      host,
      metronome: sharedMetronome,
      random: () => 0.5,
      log: () => undefined,
      ...(watchSeconds === undefined ? {} : { watchSeconds }),
    },
    {
      onView: (view) => void views.push(view === undefined ? 'none' : view.ready ? 'ready' : 'not ready'),
      metadata: () => ({ labels: {}, annotations: {} }),
    },
  );
  stop = async () => {
    watch.stop();
    await api.stop();
  };
  return views;
};

it('a watch that the server ends at its time goes on from the version it has shown, without reading the Node object again', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, false, 'v1.34.4');
  const views = await follow(api, 11);
  await eventually(() => views.includes('not ready'));
  await eventually(() => watchesOf(api).length === 2);
  const reads = api.requests.filter((request) => request.endsWith(`GET /api/v1/nodes/${NODE}`));
  expect(reads).toHaveLength(1);
  api.setNode(NODE, true, 'v1.34.4');
  await eventually(() => views.includes('ready'));
  expect(views).toEqual(['not ready', 'ready']);
}, 40_000);

it('what changed while no watch was open is seen by the next one', async () => {
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

it('the Node object is asked for ever more slowly while the server ends every watch at once, and is seen all the same', async () => {
  const api = await KubernetesApi.create(NODE);
  await api.start();
  api.setNode(NODE, false, 'v1.34.4');
  api.refusesWatches = true;
  const views = await follow(api);
  await eventually(() => views.includes('not ready'));
  const before = api.requests.length;
  await sleep(LOOKED_MS);
  // Each time is a GET and a watch; without a pause there were hundreds.
  expect(api.requests.length - before).toBeLessThanOrEqual(10);
  api.setNode(NODE, true, 'v1.34.4');
  await eventually(() => views.includes('ready'));
});
