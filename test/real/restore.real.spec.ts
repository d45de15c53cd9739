import type { EtcdRequestView, Machine, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, VERSION, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'saved';
const PATH = `/ns/default/clusters/${CLUSTER}/etcd`;

describe(`etcd of a real cluster of ${VERSION} restored from a snapshot`, () => {
  let system: RealSystem;
  let machine: Machine;
  let kubectl: Kubectl;

  const ask = async (path: string, body: object): Promise<EtcdRequestView> => {
    const answer = await system.call<EtcdRequestView>('POST', `${PATH}/${path}`, body);
    if (answer.status !== 202) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const configMaps = async (): Promise<readonly string[]> =>
    (await kubectl('get', 'configmaps', '--output', 'name')).split('\n').filter(Boolean);
  const etcdVersion = async (): Promise<string> =>
    (await kubectl('--namespace', 'kube-system', 'exec', `etcd-${machine.name}`, '--', 'etcd', '--version')).split(
      '\n',
    )[0] ?? '';
  const verification = ({ type }: StoredEvent): boolean =>
    type === 'EtcdSnapshotVerified' || type === 'EtcdSnapshotVerificationFailed';
  const over = ({ type }: StoredEvent): boolean => type === 'EtcdRestored' || type === 'EtcdRestoreFailed';

  beforeAll(async () => {
    system = await startRealSystem();
    const [first] = machinesOf(await system.create(CLUSTER, { controlPlanes: 1, workers: 0 }));
    if (first === undefined) throw new Error('there is no machine');
    machine = first;
    kubectl = await system.kubectl(CLUSTER);
  }, 15 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it(
    'contains what existed when it was taken, and nothing created later',
    async () => {
      process.stdout.write(`${await etcdVersion()}\n`);
      await kubectl('create', 'configmap', 'before', '--from-literal=made=before');
      await ask('snapshots', {});
      const taken = await system.until(CLUSTER, ({ type }) => type === 'EtcdSnapshotTaken', 3 * MINUTE_MS);
      const { snapshot } = taken.data as { readonly snapshot: string };
      await ask(`snapshots/${snapshot}/verify`, {});
      const checked = await system.until(CLUSTER, verification, 5 * MINUTE_MS);
      process.stdout.write(`${JSON.stringify(checked.data)}\n`);
      const { revision, keys } = taken.data as { readonly revision: number; readonly keys: number };
      expect(checked).toMatchObject({ type: 'EtcdSnapshotVerified', data: { snapshot, revision, keys } });
      const left = [
        'ls -d /var/lib/fairlead/etcd-verification* /run/fairlead/etcd-verification* 2>/dev/null',
        "systemctl list-units --all --plain --no-legend 'fairlead-etcd-verification*'",
        'pgrep -af "[n]ame=scratch"',
        'grep etcd-verification /proc/mounts',
      ].join('; ');
      expect(await system.onHost(machine.providerId.split('/').at(-1) ?? '', 'sh', '-c', `{ ${left}; } || true`)).toBe(
        '',
      );

      await kubectl('create', 'configmap', 'after', '--from-literal=made=after');
      expect(await configMaps()).toEqual(expect.arrayContaining(['configmap/before', 'configmap/after']));

      await ask('restore', { snapshot, confirm: CLUSTER });
      const end = await system.until(CLUSTER, over, 8 * MINUTE_MS);
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'EtcdRestored', data: { snapshot } });

      const found = await eventually('the API after the restore', configMaps, (names) => names.length > 0, MINUTE_MS);
      expect(found).toContain('configmap/before');
      expect(found).not.toContain('configmap/after');
    },
    15 * MINUTE_MS,
  );

  it(
    'belongs to a working cluster: its node is Ready, its controllers create pods, and lost objects can be created again',
    async () => {
      await kubectl('create', 'configmap', 'after', '--from-literal=made=again');
      await kubectl('create', 'deployment', 'probe', '--image=registry.k8s.io/pause:3.10', '--replicas=2');
      await eventually(
        'a Ready node',
        () => nodesOf(kubectl),
        (nodes) => nodes.length === 1 && nodes.every(({ ready }) => ready),
        2 * MINUTE_MS,
      );
      await eventually(
        'pods of a new deployment',
        async () => JSON.parse(await kubectl('get', 'pods', '--selector', 'app=probe', '--output', 'json')) as object,
        (list) => JSON.stringify(list).includes(`"nodeName":"${machine.name}"`),
        MINUTE_MS,
      );
    },
    5 * MINUTE_MS,
  );

  it('records each step', async () => {
    const log = await system.events(CLUSTER);
    const begun = log.find(({ type }) => type === 'EtcdRestoreStarted')?.meta.time ?? '';
    for (const { type, data, meta } of log)
      if (type.startsWith('EtcdRestore'))
        process.stdout.write(
          `${String(Math.round((Date.parse(meta.time) - Date.parse(begun)) / 1_000)).padStart(4)} s  ${type} ${'step' in data ? String(data.step) : ''}\n`,
        );
    expect(
      log.filter(({ type }) => type === 'EtcdRestoreAdvanced').map(({ data }) => 'step' in data && data.step),
    ).toEqual(expect.arrayContaining(['stop', 'restore', 'start', 'verify']));
  });
});
