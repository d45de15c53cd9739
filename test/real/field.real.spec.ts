import type { Machine, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fairleadOf, type Fairlead } from './fairlead.js';
import { eventually, nodesOf, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'field';
const FROM = 'v1.34.4';
const TO = 'v1.35.4';
const UPGRADES = `/ns/default/clusters/${CLUSTER}/upgrades`;
const ETCD = `/ns/default/clusters/${CLUSTER}/etcd`;
const MANIFEST = '/etc/kubernetes/manifests/kube-apiserver.yaml';
/** A flag that kubeadm does not write; the API server starts with it. */
const FLAG = '--event-ttl';

const say = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`);

describe(`a real cluster of ${FROM} with manual changes`, () => {
  let system: RealSystem;
  let fairlead: Fairlead;
  let kubectl: Kubectl;
  let machine: Machine;
  let snapshot: string;

  const argumentsOfApiServer = (): Promise<string> =>
    kubectl('-n', 'kube-system', 'get', 'pods', '-l', 'component=kube-apiserver', '-o', 'jsonpath={..command}').catch(
      () => '',
    );
  const takeSnapshot = async (): Promise<string> => {
    const { status, body } = await system.call('POST', `${ETCD}/snapshots`, {});
    expect([status, body]).toEqual([202, expect.anything()]);
    const { data } = await system.until(CLUSTER, ({ type }) => type === 'EtcdSnapshotTaken', 3 * MINUTE_MS);
    return (data as { readonly snapshot: string }).snapshot;
  };
  const restore = (more: object) =>
    system.call<{ reason?: string }>('POST', `${ETCD}/restore`, { snapshot, confirm: CLUSTER, ...more });
  /** The cluster's own versions: kubeadm's, kube-proxy's, and those of its API servers. */
  const versionsInCluster = async (): Promise<readonly string[]> => {
    const kubeadm = await kubectl('-n', 'kube-system', 'get', 'configmap', 'kubeadm-config', '-o', 'yaml');
    const proxy = await kubectl('-n', 'kube-system', 'get', 'daemonset', 'kube-proxy', '-o', 'jsonpath={..image}');
    const server = await kubectl('version', '-o', 'json');
    const { serverVersion } = JSON.parse(server) as { readonly serverVersion: { readonly gitVersion: string } };
    return [
      /kubernetesVersion: (\S+)/.exec(kubeadm)?.[1] ?? '',
      proxy.split(':').at(-1)?.trim() ?? '',
      serverVersion.gitVersion,
    ];
  };
  const end = async (overrides: readonly object[]): Promise<StoredEvent> => {
    const { status, body } = await system.call<{ id: string }>('POST', UPGRADES, {
      version: TO,
      approved: true,
      overrides,
    });
    expect([status, body]).toEqual([202, expect.anything()]);
    const over = ({ type, data }: StoredEvent): boolean =>
      'upgradeId' in data &&
      data.upgradeId === body.id &&
      ['UpgradeRejected', 'RolloutCompleted', 'RolloutHalted'].includes(type);
    return system.until(CLUSTER, over, 15 * MINUTE_MS);
  };

  beforeAll(async () => {
    system = await startRealSystem();
    fairlead = fairleadOf(system);
    const [first] = machinesOf(await system.create(CLUSTER, { controlPlanes: 1, workers: 0 }, FROM));
    if (first === undefined) throw new Error('there is no machine');
    machine = first;
    kubectl = await system.kubectl(CLUSTER);
    snapshot = await takeSnapshot();
    const host = machine.providerId.split('/').at(-1) ?? '';
    await system.onHost(host, 'sed', '-i', `/--allow-privileged/a\\    - ${FLAG}=2h`, MANIFEST);
    await eventually('the flag', argumentsOfApiServer, (words) => words.includes(`${FLAG}=2h`), 5 * MINUTE_MS);
    await kubectl('-n', 'kube-system', 'wait', 'pods', '--all', '--for=condition=Ready', '--timeout=300s');
  }, 20 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it(
    'reports before any change that an upgrade would remove the flag',
    async () => {
      const plan = await fairlead('upgrade', 'plan', CLUSTER, '--to', TO).catch((error: unknown) => String(error));
      say(plan);
      expect(plan).toMatch(/B11/);
      expect(plan).toContain(FLAG);
      const rejected = await end([]);
      expect(rejected).toMatchObject({
        type: 'UpgradeRejected',
        data: { findings: expect.arrayContaining([expect.objectContaining({ rule: 'B11' })]) },
      });
      expect(await argumentsOfApiServer()).toContain(`${FLAG}=2h`);
    },
    5 * MINUTE_MS,
  );

  it(
    'is upgraded once an operator accepts that, and loses only what was reported',
    async () => {
      const before = await argumentsOfApiServer();
      const done = await end([{ rule: 'B11', reason: 'the flag is not needed' }]);
      expect({ type: done.type, data: done.data }).toMatchObject({ type: 'RolloutCompleted' });
      const after = await eventually('the API server', argumentsOfApiServer, (words) => words !== '', 2 * MINUTE_MS);
      const flagsOf = (words: string): readonly string[] => [...words.matchAll(/--([\w-]+)/g)].map(([, name]) => name!);
      const lost = flagsOf(before).filter((name) => !flagsOf(after).includes(name));
      say(`lost: ${lost.join(', ')}`);
      expect(lost).toEqual([FLAG.slice(2)]);
    },
    20 * MINUTE_MS,
  );

  it(
    'is restored from an earlier version only with confirmVersion, and keeps the later versions',
    async () => {
      expect(await versionsInCluster()).toEqual([TO, TO, TO]);
      expect(await restore({})).toMatchObject({ status: 422, body: { reason: 'etcd.restore-other-version' } });
      expect((await restore({ confirmVersion: FROM })).status).toBe(202);
      const over = ({ type }: StoredEvent): boolean => type === 'EtcdRestored' || type === 'EtcdRestoreFailed';
      const restored = await system.until(CLUSTER, over, 8 * MINUTE_MS);
      expect({ type: restored.type, data: restored.data }).toMatchObject({ type: 'EtcdRestored' });
      await eventually(
        'the versions of after the upgrade',
        () => versionsInCluster().catch(() => []),
        (found) => found.length > 0 && found.every((version) => version === TO),
        5 * MINUTE_MS,
      );
      await eventually(
        'a Ready node',
        () => nodesOf(kubectl),
        (nodes) => nodes.length === 1 && nodes.every(({ ready, version }) => ready && version === TO),
        3 * MINUTE_MS,
      );
    },
    20 * MINUTE_MS,
  );
});
