import { X509Certificate } from 'node:crypto';
import { EXTERNAL_ETCD, type Machine, type StoredEvent } from '@fairlead/contracts';
import { parseResult, renderStep } from '@fairlead/node-scripts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, VERSION, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'outside';
const { pki, client, programs, data, unit } = EXTERNAL_ETCD;

describe('a real cluster with an external etcd', () => {
  let system: RealSystem;
  let events: readonly StoredEvent[];
  let controlPlanes: readonly Machine[];
  let kubectl: Kubectl;

  const hostOf = (machine: Machine | undefined): string => machine?.providerId.split('/').at(-1) ?? '';
  const on = (machine: Machine | undefined, ...words: readonly string[]): Promise<string> =>
    system.onHost(hostOf(machine), ...words);
  const script = (machine: Machine | undefined, text: string): Promise<string> => on(machine, 'sh', '-ec', text);
  const etcdctl = (machine: Machine | undefined, ...words: readonly string[]): Promise<string> =>
    on(
      machine,
      `${programs}/etcdctl`,
      ...[`--cacert=${pki}/ca.crt`, `--cert=${pki}/healthcheck-client.crt`, `--key=${pki}/healthcheck-client.key`],
      ...['--endpoints=https://127.0.0.1:2379', ...words],
    );
  /** etcdctl fails as long as one of the members is not healthy. */
  const healthyMembers = async (machine: Machine | undefined): Promise<readonly string[]> => {
    const said = await script(
      machine,
      `${programs}/etcdctl --cacert=${pki}/ca.crt --cert=${pki}/healthcheck-client.crt --key=${pki}/healthcheck-client.key \
        --endpoints=https://127.0.0.1:2379 endpoint health --cluster 2>&1 || true`,
    );
    return [...said.matchAll(/^(https:\/\/\S+) is healthy/gm)].map(([, url]) => url ?? '').sort();
  };
  const clientUrls = (): readonly string[] => controlPlanes.map(({ privateIp }) => `https://${privateIp}:2379`).sort();

  beforeAll(async () => {
    system = await startRealSystem();
    events = await system.create(CLUSTER, { controlPlanes: 3, workers: 1 }, VERSION, { etcd: 'external' });
    controlPlanes = machinesOf(events).filter(({ role }) => role === 'control-plane');
    kubectl = await system.kubectl(CLUSTER);
  }, 20 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it('has four Ready nodes, and its etcd was ready before kubeadm init', async () => {
    const nodes = await nodesOf(kubectl);
    expect(nodes).toHaveLength(4);
    expect(nodes.every(({ ready, version }) => ready && version === VERSION)).toBe(true);
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type === 'EtcdReady')).toHaveLength(1);
    expect(types.indexOf('EtcdReady')).toBeLessThan(types.indexOf('ControlPlaneInitialized'));
  });

  it('has three healthy members, queried from every host over https', async () => {
    for (const machine of controlPlanes) expect(await healthyMembers(machine)).toEqual(clientUrls());
    const list = (await etcdctl(controlPlanes[0], 'member', 'list')).trim().split('\n');
    expect(list.map((line) => line.split(', ')[2]).sort()).toEqual(controlPlanes.map(({ name }) => name).sort());
    expect(list.every((line) => line.includes('started') && !line.includes('http://'))).toBe(true);
  });

  it(
    'rejects clients without one of its certificates',
    async () => {
      const refused = await script(
        controlPlanes[0],
        `${programs}/etcdctl --insecure-skip-tls-verify --endpoints=https://127.0.0.1:2379 --command-timeout=5s member list 2>&1 || true`,
      );
      expect(refused).toContain('Error: context deadline exceeded');
      expect(refused).not.toContain('started');
      // The client's last message is random; the member's log is not.
      const journal = await script(controlPlanes[0], `journalctl --unit ${unit} --output cat --no-pager`);
      expect(journal).toContain("tls: client didn't provide a certificate");
    },
    MINUTE_MS,
  );

  it('has certificates for its own name and address on each host, and no key of the CA', async () => {
    const fingerprints = new Set<string>();
    for (const machine of controlPlanes) {
      const ca = new X509Certificate(await on(machine, 'cat', `${pki}/ca.crt`));
      for (const kind of ['server', 'peer']) {
        const certificate = new X509Certificate(await on(machine, 'cat', `${pki}/${kind}.crt`));
        expect(certificate.verify(ca.publicKey)).toBe(true);
        expect(certificate.subject).toBe(`CN=${machine.name}`);
        expect(certificate.checkIP(machine.privateIp)).toBe(machine.privateIp);
        fingerprints.add(certificate.fingerprint256);
      }
      expect((await on(machine, 'ls', pki)).trim().split('\n')).toEqual([
        ...['ca.crt', 'healthcheck-client.crt', 'healthcheck-client.key'],
        ...['peer.crt', 'peer.key', 'server.crt', 'server.key'],
      ]);
    }
    expect(fingerprints.size).toBe(6);
    expect(JSON.stringify(events)).not.toContain('PRIVATE KEY');
  });

  it('has no static pod of etcd except one with its tools, and API servers that use their local member', async () => {
    const pods = await kubectl('--namespace', 'kube-system', 'get', 'pods', '-l', 'component=etcd', '-o', 'name');
    expect(pods.trim()).toBe('');
    const tools = await kubectl(
      ...['--namespace', 'kube-system', 'exec', `etcdctl-${controlPlanes[0]?.name}`, '--', 'etcdctl'],
      ...['--endpoints=https://127.0.0.1:2379', '--cacert=/etc/kubernetes/pki/etcd/ca.crt'],
      '--cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt',
      ...['--key=/etc/kubernetes/pki/etcd/healthcheck-client.key', 'member', 'list'],
    );
    expect(tools.match(/, started, /g)).toHaveLength(3);
    for (const machine of controlPlanes) {
      expect((await on(machine, 'ls', '/etc/kubernetes/manifests')).trim().split('\n').sort()).toEqual([
        ...['fairlead-etcdctl.yaml', 'kube-apiserver.yaml', 'kube-controller-manager.yaml', 'kube-scheduler.yaml'],
      ]);
      const manifest = await on(machine, 'cat', '/etc/kubernetes/manifests/kube-apiserver.yaml');
      const [, servers = ''] = /--etcd-servers=(\S+)/.exec(manifest) ?? [];
      expect(servers).toBe('https://127.0.0.1:2379');
      expect((await on(machine, 'systemctl', 'is-active', unit)).trim()).toBe('active');
    }
  });

  it(
    'is saved in a snapshot from which a scratch etcd on a control plane starts, and of which nothing is left',
    async () => {
      const path = `/ns/default/clusters/${CLUSTER}/etcd/snapshots`;
      expect((await system.call('POST', path, {})).status).toBe(202);
      const taken = await system.until(CLUSTER, ({ type }) => type === 'EtcdSnapshotTaken', MINUTE_MS);
      const { snapshot, revision, keys } = taken.data as StoredEvent<'EtcdSnapshotTaken'>['data'];
      expect((await system.call('POST', `${path}/${snapshot}/verify`, {})).status).toBe(202);
      const isEnd = ({ type }: StoredEvent): boolean =>
        type.startsWith('EtcdSnapshotVerif') && !type.endsWith('Requested');
      const end = await system.until(CLUSTER, isEnd, 3 * MINUTE_MS);
      expect(end).toMatchObject({ type: 'EtcdSnapshotVerified', data: { snapshot, keys } });
      const { data: said } = end as StoredEvent<'EtcdSnapshotVerified'>;
      expect([said.revision >= revision, said.objects > 100]).toEqual([true, true]);
      for (const machine of controlPlanes)
        expect(await script(machine, 'ls /var/lib/fairlead; systemctl list-units --all')).not.toContain(
          'etcd-verification',
        );
      expect(await healthyMembers(controlPlanes[0])).toEqual(clientUrls());
    },
    5 * MINUTE_MS,
  );

  it(
    'accepts writes while the host of its leader is off, and has three members again when that returns',
    async () => {
      const leader = controlPlanes.find((machine) => machine.leader);
      const other = controlPlanes.find((machine) => !machine.leader);
      await system.local.hosts.powerCut(hostOf(leader));
      await eventually(
        'the API to take a write',
        () => kubectl('create', 'namespace', `written-${Date.now()}`).catch((error: unknown) => String(error)),
        (said) => said.includes('created'),
        2 * MINUTE_MS,
      );
      expect(await healthyMembers(other)).toHaveLength(2);
      await system.local.hosts.start(hostOf(leader));
      await eventually(
        'three healthy members',
        () => healthyMembers(other),
        (members) => members.length === 3,
        2 * MINUTE_MS,
      );
      await eventually(
        'four Ready nodes',
        () => nodesOf(kubectl),
        (nodes) => nodes.length === 4 && nodes.every(({ ready }) => ready),
        3 * MINUTE_MS,
      );
    },
    8 * MINUTE_MS,
  );

  it(
    'leaves neither unit, data, programs nor certificates on a reset host',
    async () => {
      const machine = controlPlanes.find(({ leader }) => !leader);
      const requested = events.find((event) => event.type === 'ClusterRequested');
      const of = requested?.type === 'ClusterRequested' ? requested.data.uid : '';
      const text = Buffer.from(renderStep('kubeadm-reset', { removeAgent: true, of }).script).toString('base64');
      const words = ['sh', '-ec', `printf %s ${text} | base64 -d >/run/reset.sh; sh /run/reset.sh`];
      const said = await system.local.hosts.execute(hostOf(machine), words, 2 * MINUTE_MS);
      expect(parseResult(said.stdout)).toEqual({ changed: true, left: [] });
      const left = await script(
        machine,
        `for path in ${pki} ${client} ${programs} ${data}/member /etc/systemd/system/${unit}; do if [ -e "$path" ]; then echo "$path"; fi; done
        ss -Htln 'sport = :2379 or sport = :2380'`,
      );
      expect(left.trim()).toBe('');
      // The other two continue without it.
      const others = controlPlanes.filter(({ name }) => name !== machine?.name);
      expect(await healthyMembers(others[0])).toHaveLength(2);
    },
    3 * MINUTE_MS,
  );

  it(
    'leaves nothing of its hosts when it is deleted',
    async () => {
      expect((await system.call('DELETE', `/ns/default/clusters/${CLUSTER}`)).status).toBe(202);
      await system.until(CLUSTER, ({ type }) => type === 'ClusterDeleted', 3 * MINUTE_MS);
      expect(system.local.hosts.all()).toEqual([]);
      const left = await system.leftovers(machinesOf(events).map(hostOf));
      expect(left.filter((what) => !/^(namespace|device|file: .*\/networks\/)/.test(what))).toEqual([]);
    },
    5 * MINUTE_MS,
  );
});
