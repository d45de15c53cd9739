import type { ClusterManifestView, ClusterView, EventType, StoredEvent } from '@fairlead/contracts';
import { findHelm } from '@fairlead/mirror';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { archiveOf, ChartServer } from '../apps/infra-svc/src/adapters/helm/chart.server.fixtures.js';
import { findKubectl } from './system/kubectl.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 240_000;
const EVENT_WITHIN_MS = 60_000;
const machines = { connection: 'cloud', machineType: 'lab.medium' };
const helm = findHelm(process.env);
if (helm === undefined)
  process.stderr.write(
    'NOT CHECKED: the chart of the cloud controller, because there is no helm on this machine; "npm run helm:build" builds it with Go\n',
  );

/** In the shape of the charts of cloud projects. In the simulation, its label makes the pod a cloud controller. */
const CHART = {
  'grafana/Chart.yaml': 'apiVersion: v2\nname: grafana\nversion: 1.0.0\n',
  'grafana/templates/controller.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: { name: cloud-controller-manager }
spec:
  replicas: 1
  selector: { matchLabels: { app: cloud-controller-manager } }
  template:
    metadata:
      labels: { app: cloud-controller-manager, lab.fairlead.dev/cloud-controller: {{ .Values.secret.name }} }
    spec:
      hostNetwork: true
      nodeSelector: {{ toJson .Values.nodeSelector }}
      tolerations: {{ toJson .Values.tolerations }}
      containers:
        - name: controller
          image: example.org/cloud-controller:1.0.0
          args: [--cluster-name={{ .Values.cluster.name }}, --cloud-config=/etc/config/cloud.conf]
          volumeMounts: [{ name: config, mountPath: /etc/config }]
      volumes: [{ name: config, secret: { secretName: {{ .Values.secret.name }} } }]
---
apiVersion: v1
kind: Secret
metadata: { name: cloud-controller-cluster }
stringData: { cluster: {{ .Values.cluster.name }} }
`,
};

const CONTROLLER = helm === undefined ? 'stand-in' : 'cloud-controller';

/** Where there is no helm, the pod of the chart is an add-on without a chart. */
const STAND_IN = {
  name: 'stand-in',
  class: 'bootstrap',
  namespace: 'kube-system',
  manifests: [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'cloud-controller-manager' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'cloud-controller-manager' } },
        template: {
          metadata: {
            labels: { app: 'cloud-controller-manager', 'lab.fairlead.dev/cloud-controller': 'cloud-config' },
          },
          spec: {
            hostNetwork: true,
            tolerations: [{ operator: 'Exists' }],
            containers: [{ name: 'controller', image: 'example.org/cloud-controller:1.0.0' }],
          },
        },
      },
    },
  ],
};

/** Of class normal. */
const LATER = {
  name: 'later',
  manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'later' }, data: { text: 'later' } }],
};

const manifest = (cloudController?: string) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    ...(cloudController === undefined ? {} : { cloudController }),
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
    addons: [...(helm === undefined ? [STAND_IN] : []), LATER],
  },
});

/** The whole product in the lab, with the real helm where there is one. The cloud, its controller and the chart are simulations. */
describe('a cluster with a cloud controller', () => {
  const repository = new ChartServer();
  const folder = newFolder('cloud-controller');
  let system: System;

  const until = <T extends EventType>(type: T, cluster = 'shop', addon?: string): Promise<StoredEvent<T>> =>
    system.until(
      cluster,
      ({ type: found, data }) => found === type && (addon === undefined || ('addon' in data && data.addon === addon)),
      EVENT_WITHIN_MS,
    ) as Promise<StoredEvent<T>>;
  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const kubectled = async (...args: readonly string[]): Promise<string> => {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, await fairlead('kubeconfig', 'shop'), { mode: 0o600 });
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    return (await run(await findKubectl(), [...args], { env, timeout: 60_000 })).stdout;
  };
  const register = async (cloudController: boolean): Promise<void> => {
    const { url: endpoint, token } = system.labAccess;
    const settings = { endpoint, token, ...(cloudController ? { cloudController } : {}) };
    const body = { provider: 'lab', region: 'lab-1', zone: 'lab-1a', namespaces: ['*'], settings };
    expect((await system.call('PUT', '/connections/cloud', body)).status).toBeLessThan(300);
  };
  const conditionOf = async (): Promise<unknown> => {
    const { body } = await system.call<ClusterManifestView>('GET', '/ns/default/clusters/shop/manifest');
    return body.status?.conditions.find(({ type }) => type === 'CloudController');
  };

  beforeAll(async () => {
    await repository.start();
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, repository.ca);
    const env = { CATALOGUE_ADDRESSES_ALLOWED: '127.0.0.0/8', ADDONS_INTERVAL_MS: '1000', JOB_ACK_WAIT_MS: '1000' };
    system = await startSystem({ light: true, env });
    repository.publish({ '1.0.0': await archiveOf(CHART) });
    const name = 'lab-cloud-controller';
    const source = ['--repository', repository.url, '--repository-ca-file', ca, '--chart', 'grafana'];
    await fairlead('application', 'register', name, ...source, '--versions', '1.0.0');
  }, TIMEOUT_MS);
  afterAll(async () => {
    await system?.stop();
    await repository.stop();
    removeFolder(folder);
  }, TIMEOUT_MS);

  it(
    'is refused where the connection does not let clusters have its credential, with the reason of CB-Ladybug [CB-Ladybug 24, CB-Ladybug 25]',
    async () => {
      await register(false);
      const { status } = await system.call('PUT', '/ns/default/clusters/shop/manifest', manifest('lab'));
      expect(status).toBeLessThan(300);
      expect((await until('ClusterRejected')).data.code).toBe('cluster.cloud-controller-closed');
      const { body } = await system.call<ClusterView>('GET', '/ladybug/ns/default/clusters/shop');
      expect(body.status).toMatchObject({ phase: 'Failed', reason: 'SetupCCMFailedReason' });
      await system.call('DELETE', '/ns/default/clusters/shop');
      await until('ClusterDeleted');
      expect((await system.standing())['machines'] ?? 0).toBe(0);
    },
    TIMEOUT_MS,
  );

  it(
    'has network and cloud controller once the control plane is initialized, others once it is Ready, and the credential in no event [azimuth 19, CB-Ladybug 24]',
    async () => {
      await register(true);
      const before = (await system.events('shop')).length;
      await system.call('PUT', '/ns/default/clusters/shop/manifest', manifest('lab'));
      await until('ClusterReady');
      await until('AddonDeployed', 'shop', CONTROLLER);
      const events = (await system.events('shop')).slice(before);
      const seqOf = (type: EventType, addon?: string): number =>
        events.find(
          (one) => one.type === type && (addon === undefined || ('addon' in one.data && one.data.addon === addon)),
        )?.meta.seq ?? 0;
      // helm takes longer than hosts without delays need to become Ready.
      for (const [addon, fact] of [
        ['cloud-config', 'AddonDeployed'],
        [CONTROLLER, 'AddonPreparing'],
      ] as const) {
        const order = [seqOf('ControlPlaneInitialized'), seqOf(fact, addon), seqOf('ClusterReady')];
        expect([addon, order]).toEqual([addon, order.toSorted((one, other) => one - other)]);
        expect(order[0]).toBeGreaterThan(0);
      }
      await until('AddonDeployed', 'shop', 'later');
      const begun = (await system.events('shop')).filter(
        ({ type, data }) => type === 'AddonInstalling' && 'addon' in data && data.addon === 'later',
      );
      const byClass = [
        ...[seqOf('ControlPlaneInitialized'), seqOf('NetworkReady'), seqOf('WorkerJoined'), seqOf('ClusterReady')],
        begun[0]?.meta.seq ?? 0,
      ];
      expect(byClass).toEqual(byClass.toSorted((one, other) => one - other));
      expect(seqOf('AddonInstalling', CONTROLLER)).toBeGreaterThan(seqOf('ControlPlaneInitialized'));
      const { token } = system.labAccess;
      const config = await kubectled(
        'get',
        'secret',
        '-n',
        'kube-system',
        'cloud-config',
        '-o',
        'jsonpath={.data.cloud\\.conf}',
      );
      expect(Buffer.from(config, 'base64').toString()).toContain(`token="${token}"`);
      expect(JSON.stringify(events)).not.toContain(token);
      const nodes = JSON.parse(await kubectled('get', 'nodes', '-o', 'json')) as {
        readonly items: readonly {
          readonly spec: { readonly providerID: string; readonly taints?: readonly { readonly key: string }[] };
        }[];
      };
      expect(nodes.items.map(({ spec }) => spec.providerID.startsWith('lab://'))).toEqual([true, true]);
      expect(nodes.items.flatMap(({ spec }) => spec.taints ?? []).map(({ key }) => key)).not.toContain(
        'node.cloudprovider.kubernetes.io/uninitialized',
      );
      if (helm === undefined) return;
      expect(await conditionOf()).toMatchObject({ status: 'True' });
      expect(
        await kubectled(
          'get',
          'secret',
          '-n',
          'kube-system',
          'cloud-controller-cluster',
          '-o',
          'jsonpath={.data.cluster}',
        ),
      ).toBe(Buffer.from('default-shop').toString('base64'));
    },
    TIMEOUT_MS,
  );

  it(
    'gets the next credential of its connection, and keeps its cloud controller until its end [CB-Ladybug 24]',
    async () => {
      const deployed = (await until('AddonDeployed', 'shop', 'cloud-config')).data.secrets;
      await register(true);
      await eventually(
        async () => {
          const all = (await system.events('shop')).filter(({ type }) => type === 'AddonDeployed');
          const last = all
            .flatMap(({ data }) => ('secrets' in data && data.addon === 'cloud-config' ? [data.secrets] : []))
            .at(-1);
          return last !== undefined && last['connection'] !== deployed?.['connection'];
        },
        { withinMs: EVENT_WITHIN_MS, what: 'cloud-config deployed with the next credential' },
      );
      const { status, body } = await system.call('PUT', '/ns/default/clusters/shop/manifest', manifest());
      expect([status, body]).toMatchObject([422, { field: 'spec.cloudController' }]);
    },
    TIMEOUT_MS,
  );

  it(
    'releases the load balancers of its services before its machines are deleted [CB-Ladybug 24, CB-Ladybug 32]',
    async () => {
      await kubectled('create', 'service', 'loadbalancer', 'web', '--tcp=80:80');
      const ip = [
        'get',
        'service',
        'web',
        '-o',
        'jsonpath={.status.loadBalancer.ingress[0].ip} {.metadata.finalizers[0]}',
      ];
      await eventually(
        async () => (await kubectled(...ip)) === '203.0.113.10 service.kubernetes.io/load-balancer-cleanup',
        {
          withinMs: EVENT_WITHIN_MS,
          what: 'the load balancer of the service',
        },
      );
      const before = (await system.events('shop')).at(-1)?.meta.seq ?? 0;
      await system.call('DELETE', '/ns/default/clusters/shop');
      await eventually(
        async () =>
          (await system.events('shop')).some(({ type, meta }) => type === 'ClusterDeleted' && meta.seq > before),
        { withinMs: EVENT_WITHIN_MS, what: 'the deletion' },
      );
      const events = (await system.events('shop')).filter(({ meta }) => meta.seq > before);
      const dismantled = events.find(({ type }) => type === 'ClusterDismantled');
      expect(dismantled?.data).not.toHaveProperty('left');
      const firstGone = events.find(({ type }) => type === 'VmDeleted');
      expect(firstGone?.meta.seq).toBeGreaterThan(dismantled?.meta.seq ?? Infinity);
      expect((await system.standing())['machines'] ?? 0).toBe(0);
    },
    TIMEOUT_MS,
  );
});
