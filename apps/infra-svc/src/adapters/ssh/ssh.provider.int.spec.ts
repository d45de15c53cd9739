import type { ClusterUid, HostCheck, Namespace, NodeName } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { MachineAnswer, MachineGroup } from '../../providers/provider.ports.js';
import { UnusableHosts } from '../../providers/unusable.hosts.js';
import { SITE } from '../../stock/stock.fixtures.js';
import { describeProvider } from '../provider.features.js';
import { QUICK, Rack } from './rack.fixtures.js';

describeProvider('ssh', async () => {
  const rack = await Rack.start(10, 71);
  await rack.namespace('spec');
  const settings = { apiAddress: '127.0.71.200', networkCidr: '192.168.77.0/24' };
  return {
    open: () => rack.open(settings),
    connection: SITE,
    region: 'here',
    spec: 'ssh.any',
    publicKey: rack.key.publicKey.replace(/ rack$/, ` ${SITE}`),
    stop: () => rack.stop(),
  };
});

describe('your own hosts', () => {
  let rack: Rack;
  const signal = (): AbortSignal => AbortSignal.timeout(30_000);

  const groupOf = (count: number, cluster = 'demo', spec = 'ssh.any'): MachineGroup => ({
    name: `default.${cluster}.site`,
    namespace: 'default' as Namespace,
    cluster,
    uid: randomUUID() as ClusterUid,
    image: 'as-installed',
    network: 'n',
    firewall: 'f',
    sshKey: 'k',
    machines: Array.from({ length: count }, (_, at) => ({
      name: `${cluster}-w-${at + 1}-aaaaa` as NodeName,
      spec,
      zone: undefined,
      rootDisk: { type: 'default', size: 'default' },
      labels: {},
    })),
  });

  const make = async (group: MachineGroup, settings = {}): Promise<readonly MachineAnswer[]> => {
    const answers: MachineAnswer[] = [];
    for await (const answer of rack.open(settings).ensureMachines(group, signal())) answers.push(answer);
    return answers;
  };

  beforeEach(async () => {
    rack = await Rack.start(3, 72);
  });

  afterEach(() => rack.stop());

  it('are allocated all or none: a request beyond the inventory is refused [ORBITER 27]', async () => {
    await make(groupOf(2, 'first'));
    await expect(make(groupOf(2, 'second'))).rejects.toMatchObject({
      name: 'ExternalFailure',
      retryable: false,
      message: expect.stringMatching(/has 1 free hosts that fit, but 2 are requested \(2 in use/),
    });
    expect((await rack.stock.look(SITE)).held).toHaveLength(2);
    expect(await make(groupOf(1, 'third'))).toHaveLength(1);
  });

  it('are never allocated to two concurrent clusters', async () => {
    const results = await Promise.allSettled([make(groupOf(2, 'first')), make(groupOf(2, 'second'))]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(new Set((await rack.stock.look(SITE)).held.map(({ host }) => host.name)).size).toBe(2);
  });

  it('are released clean, and allocated to the next cluster [ORBITER 27]', async () => {
    const first = groupOf(3);
    await make(first);
    rack.put(0, '/etc/kubernetes/kubelet.conf');
    rack.put(0, '/etc/fairlead/agent.json', JSON.stringify({ uid: first.uid }, null, 2));
    rack.put(1, '/var/lib/etcd/member/wal');
    await rack.open().deleteGroup(first, signal());
    expect([rack.has(0, '/etc/kubernetes/kubelet.conf'), rack.has(1, '/var/lib/etcd/member/wal')]).toEqual([
      false,
      false,
    ]);
    expect(rack.recordedTypes()).toEqual(['HostsTaken', 'StockClosed', 'HostReturned', 'HostReturned', 'HostReturned']);
    expect(await make(groupOf(3, 'next'))).toHaveLength(3);
  });

  describe('that are booked for a time', () => {
    const day = (of: number): string => `2026-12-0${of}T08:00:00.000Z`;
    const reserving = (group: MachineGroup, from: string | null, until: string, count = group.machines.length) => {
      const { machines: _machines, ...of } = group;
      const name = `${group.name}.${group.uid}`;
      const machines = [{ spec: 'ssh.any', count }];
      return rack.open().reservations!.ensure({ name, group: of, startsAt: from, endsAt: until, machines }, signal());
    };
    const described = ({ name, uid }: MachineGroup) => rack.open().reservations!.describe(`${name}.${uid}`, signal());

    it('wait for their start, keep others out, and deny with a sentence what is not there [azimuth 8, azimuth 9]', async () => {
      const [later, other] = [groupOf(2, 'later'), groupOf(2, 'other')];
      expect(await reserving(later, day(3), day(5))).toEqual({ status: 'pending', sizes: {} });
      expect(await described(later)).toEqual({ status: 'pending', sizes: {} });
      await expect(make(other)).rejects.toThrow(/has 1 free hosts that fit, but 2 are requested .*2 booked for other/);
      const room = (endsAt?: string) => {
        const { machines: _machines, ...group } = other;
        const request = { group, specs: ['ssh.any', 'ssh.any'], controlPlanes: 0, endsAt };
        return rack.open().checkCapacity?.(request, signal());
      };
      expect([await room(day(3)), (await room(day(4)))?.code, (await room())?.code]).toEqual([
        undefined,
        'stock.exhausted',
        'stock.exhausted',
      ]);
      expect(await reserving(other, null, day(4))).toEqual({
        status: 'denied',
        message: expect.stringMatching(/^Connection site has 1 free hosts that fit, but 2 are requested/),
      });
      expect(await reserving(other, null, day(3))).toEqual({ status: 'active', sizes: {} });
      expect(await make(other)).toHaveLength(2);
      rack.now = day(3);
      // The others are still there: it has not begun.
      expect(await described(later)).toEqual({ status: 'pending', sizes: {} });
      await rack.open().deleteGroup(other, signal());
      await rack.open().reservations!.release(`${other.name}.${other.uid}`, signal());
      expect(await described(later)).toEqual({ status: 'active', sizes: {} });
      expect((await make(later)).map(({ status }) => status)).toEqual(['running', 'running']);
    });

    it('are extended with those of a pool that has grown, unless others have booked one: then the former end stays [azimuth 13]', async () => {
      const [first, next] = [groupOf(1, 'first'), groupOf(2, 'next')];
      await reserving(first, null, day(2));
      await make(first);
      const grown = { ...groupOf(2, 'first'), uid: first.uid };
      expect(await make(grown)).toHaveLength(2);
      const bookings = async () => (await rack.stock.look(SITE)).bookings.map(({ endsAt, hosts }) => [endsAt, hosts]);
      expect(await bookings()).toEqual([[day(2), ['rack-1', 'rack-2']]]);
      expect(await reserving(first, null, day(3), 1)).toEqual({ status: 'active', sizes: {} });
      expect(await reserving(next, day(3), day(5))).toMatchObject({ status: 'pending' });
      expect(await reserving(first, null, day(4), 1)).toEqual({
        status: 'denied',
        message: expect.stringMatching(
          /^rack-[12].* of connection site are booked for other clusters before 2026-12-04/,
        ),
      });
      expect((await bookings())[0]).toEqual([day(3), ['rack-1', 'rack-2']]);
      rack.now = day(3);
      expect(await described(first)).toEqual({ status: 'denied', message: 'the booking has ended' });
    });

    it('are released after their machines, and never booked again for the same cluster', async () => {
      const group = groupOf(2);
      await reserving(group, null, day(2));
      await make(group);
      await rack.open().deleteGroup(group, signal());
      for (const _again of [1, 2]) await rack.open().reservations!.release(`${group.name}.${group.uid}`, signal());
      expect(await described(group)).toBeUndefined();
      expect(await reserving(group, null, day(2))).toMatchObject({ status: 'denied' });
      expect(rack.recordedTypes().slice(-2)).toEqual(['HostReturned', 'HostBookingEnded']);
    });
  });

  it('that cannot be reset are quarantined with the reason until they can', async () => {
    const group = groupOf(3);
    await make(group);
    await rack.hosts[1]!.goAway();
    await rack.open().deleteGroup(group, signal());
    expect(await rack.open().describeMachines(group, signal())).toEqual([]);
    const [kept] = (await rack.stock.look(SITE)).withheld;
    expect([kept?.host.name, kept?.cause.message]).toEqual(['rack-2', expect.stringMatching(/does not answer/)]);
    const { hosts } = await rack.open().verify(signal());
    expect(hosts?.find(({ name }) => name === 'rack-2')?.problem).toMatch(/could not be reset: .*does not answer/);
    await expect(make(groupOf(3, 'next'))).rejects.toThrow(/2 are requested|3 are requested.*1 kept out/);
    await rack.open().recover?.(signal());
    expect((await rack.stock.look(SITE)).withheld).toHaveLength(1);
    await rack.hosts[1]!.comeBack();
    await rack.open().recover?.(signal());
    expect(await make(groupOf(3, 'next'))).toHaveLength(3);
  });

  it('that do not respond, or are nodes already, are not allocated', async () => {
    await rack.hosts[0]!.goAway();
    rack.put(1, '/etc/kubernetes/kubelet.conf');
    expect((await make(groupOf(1))).map((answer) => answer.id)).toEqual(['rack-3/demo-w-1-aaaaa']);
    await expect(make(groupOf(1, 'next'))).rejects.toThrow(
      /\(1 in use, 0 kept out .*, 2 that do not answer or are unfit, e.g. rack-1: .*does not answer/,
    );
    const isNode = 'it is a Kubernetes node already (/etc/kubernetes/kubelet.conf exists)';
    const login = { ssh: '', hostKey: '', root: '', system: '', address: '', clock: '', disk: '' };
    expect((await rack.open().verify(signal())).hosts).toEqual([
      {
        ...{ name: 'rack-1', problem: expect.stringMatching(/does not answer/) },
        checks: { ssh: expect.stringMatching(/does not answer/) },
      },
      { name: 'rack-2', problem: isNode, checks: { ...login, clean: isNode } },
      // A node need not be clean.
      { name: 'rack-3', problem: '', checks: login },
    ]);
  });

  it('are listed with their failed checks, also if none of them can be used', async () => {
    await rack.hosts[0]!.goAway();
    for (const at of [1, 2]) rack.put(at, '/etc/kubernetes/kubelet.conf');
    const failed = await rack
      .open()
      .verify(signal())
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(UnusableHosts);
    const { message, hosts } = failed as UnusableHosts;
    expect(message).toMatch(/^none of its 3 hosts can be used; rack-1: .*does not answer/);
    expect(hosts.map(({ checks }) => Object.keys(checks ?? {}).filter((one) => checks?.[one as HostCheck]))).toEqual([
      ...[['ssh'], ['clean'], ['clean']],
    ]);
  });

  it('with cgroup v1 are refused, unless the profile lets their kubelets run there', async () => {
    rack.put(
      0,
      '/proc/self/mounts',
      'tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n',
    );
    const problem = async (profile: Record<string, unknown>) =>
      (await rack.open({ profile }).verify(signal())).hosts?.[0]?.problem;
    expect(await problem({})).toMatch(
      /^it has cgroup v1, .* boot it with systemd\.unified_cgroup_hierarchy=1, or set failCgroupV1: false/,
    );
    expect(await problem({ failCgroupV1: false })).toBe('');
  });

  it('are inspected again by a verification, even right after the last one', async () => {
    const provider = rack.open({}, { ...QUICK, freshForMs: 60_000 });
    const problem = async () => (await provider.verify(signal())).hosts?.[1]?.problem;
    rack.put(1, '/etc/kubernetes/kubelet.conf');
    expect(await problem()).toMatch(/is a Kubernetes node already/);
    rack.remove(1, '/etc/kubernetes/kubelet.conf');
    expect(await problem()).toBe('');
  });

  it('may have a node address other than their SSH address, and are refused without it', async () => {
    const [first, ...others] = rack.inventory();
    rack.put(0, '/proc/net/fib_trie', '  |-- 10.77.0.2\n      /32 host LOCAL\n');
    const at = (more: Record<string, unknown>) => ({ hosts: [{ ...first, ...more }, ...others] });
    expect(await make(groupOf(1), at({ privateAddress: '10.77.0.2' }))).toMatchObject([
      { publicIp: '127.0.72.1', privateIp: '10.77.0.2', ssh: { host: '127.0.72.1' } },
    ]);
    const wrong = (await rack.open(at({ privateAddress: '10.77.0.9' })).verify(signal())).hosts;
    expect(wrong?.[0]).toMatchObject({ name: 'rack-1', problem: '' });
    await rack.open(at({ privateAddress: '10.77.0.2' })).deleteMachine('rack-1/demo-w-1-aaaaa', signal());
    const free = (await rack.open(at({ privateAddress: '10.77.0.9' })).verify(signal())).hosts;
    expect(free?.[0]?.problem).toBe(
      'it has no interface with the address 10.77.0.9 (it has 10.77.0.2): give the one that it has as its privateAddress',
    );
  });

  it('with two names are used once: the first name counts, and a clone is reported', async () => {
    for (const [at, address] of ['10.0.0.1', '10.0.0.1', '10.0.0.3'].entries()) {
      rack.put(at, '/etc/machine-id', '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
      rack.put(at, '/proc/net/fib_trie', `  |-- ${address}\n      /32 host LOCAL\n`);
    }
    expect((await rack.open().verify(signal())).hosts).toMatchObject([
      { name: 'rack-1', problem: '' },
      { name: 'rack-2', problem: 'it is the same machine as rack-1: list each machine once, with one address' },
      {
        name: 'rack-3',
        problem: '',
        warning: expect.stringMatching(/^it has the machine-id of rack-1, as a clone has/),
      },
    ]);
    await expect(make(groupOf(3))).rejects.toThrow(
      /has 2 free hosts that fit.*rack-2: it is the same machine as rack-1/,
    );
  });

  it('that no longer respond still exist: unreachable never means deleted', async () => {
    const group = groupOf(3);
    await make(group);
    for (const host of rack.hosts) await host.goAway();
    const reports = await rack.open().describeMachines(group, signal());
    expect(reports.map(({ status }) => status)).toEqual(['running', 'running', 'running']);
    expect(await make(group)).toHaveLength(3);
    await expect(rack.open().verify(signal())).rejects.toMatchObject({
      name: 'ExternalFailure',
      message: expect.stringMatching(/none of its 3 hosts can be used; rack-1: root@127.0.72.1/),
    });
  });

  it('are never accessed with a key of another connection, even if an earlier release recorded its name', async () => {
    const withKey = (keyRef: string) => ({ hosts: rack.inventory().map((host) => ({ ...host, keyRef })) });
    const foreign = rack.open(withKey('gateway.connection.other'));
    await expect(foreign.verify(signal())).rejects.toThrow(/there is no key behind gateway.connection.other/);
    expect(await rack.open(withKey('gateway.connection.site.deep')).verify(signal())).toMatchObject({ nlb: false });
  });

  it('that are removed from the inventory while in use stay with their cluster, and are not allocated again', async () => {
    const group = groupOf(2);
    await make(group);
    rack.put(0, '/var/lib/etcd/member/wal');
    const without = { hosts: rack.inventory().slice(1) };
    const reports = await rack.open(without).describeMachines(group, signal());
    expect(reports.map(({ id }) => id)).toEqual(['rack-1/demo-w-1-aaaaa', 'rack-2/demo-w-2-aaaaa']);
    await rack.open(without).deleteGroup(group, signal());
    expect(rack.has(0, '/var/lib/etcd/member/wal')).toBe(false);
    await expect(make(groupOf(3, 'next'), without)).rejects.toThrow(/has 2 free hosts that fit, but 3 are requested/);
    expect(await make(groupOf(3, 'next'))).toHaveLength(3);
  });

  it('report how they are accessed and their profile', async () => {
    const profile = { cgroupDriver: 'cgroupfs', failSwapOn: false };
    const jump = { address: '127.0.72.1', port: rack.hosts[0]!.address.port, hostKey: rack.hosts[0]!.fingerprint };
    const hosts = rack.inventory().map((host) => ({ ...host, zone: 'hall-a', labels: { rack: '7' } }));
    const [machine] = await make(groupOf(1), { hosts, profile, jump });
    expect(machine).toMatchObject({
      status: 'running',
      region: 'here',
      zone: 'hall-a',
      privateIp: '127.0.72.1',
      profile,
      labels: { rack: '7' },
      ssh: {
        host: '127.0.72.1',
        user: 'root',
        keyRef: 'gateway.connection.site',
        hostKey: rack.hosts[0]!.fingerprint,
        jump: { host: '127.0.72.1', keyRef: 'gateway.connection.site' },
      },
    });
    expect(rack.hosts[0]!.forwarded).toBeGreaterThan(0);
  });

  it('connect to each other without their proxy', async () => {
    const proxy = { https: 'http://10.0.0.1:3128', no: ['.example.org'] };
    const named = { apiAddress: '127.0.72.200', networkCidr: '127.0.72.0/24', profile: { proxy } };
    expect(await make(groupOf(1), named)).toMatchObject([
      { profile: { proxy: { https: proxy.https, no: ['127.0.72.0/24', '127.0.72.200', '.example.org'] } } },
    ]);
    const [unnamed] = await make(groupOf(1, 'next'), { profile: { proxy } });
    expect(unnamed).toMatchObject({
      profile: { proxy: { no: ['127.0.72.1', '127.0.72.2', '127.0.72.3', '.example.org'] } },
    });
  });

  it('have the sizes in the inventory, and one that matches all of them', async () => {
    const [first, ...others] = rack.inventory();
    const hosts = [{ ...first, spec: 'rack.large' }, ...others];
    expect((await rack.open({ hosts }).listSpecs(signal())).map(({ name }) => name)).toEqual(['ssh.any', 'rack.large']);
    await expect(make(groupOf(2, 'demo', 'rack.large'), { hosts })).rejects.toThrow(/has 1 free hosts that fit/);
  });

  describe('and the address of the API', () => {
    const ask = (group: MachineGroup, targets: readonly string[], settings = {}) =>
      rack
        .open(settings)
        .ensureLoadBalancer(
          { name: 'default.demo', group, kind: 'haproxy', targetPort: 6443, healthPath: '/readyz', targets },
          signal(),
        );

    it('is that of a single control plane if the inventory has no shared one', async () => {
      const group = groupOf(1);
      const ids = (await make(group)).map(({ id }) => id);
      expect(await ask(group, ids)).toEqual({
        name: 'default.demo',
        host: '127.0.72.1',
        port: 6443,
        placement: 'elsewhere',
      });
      const question = { group: groupOf(1), specs: ['ssh.any'], controlPlanes: 3 };
      expect((await rack.open().checkCapacity?.(question, signal()))?.code).toBe('stock.api-address-missing');
    });

    it('is a shared one for one cluster at a time, and is released with its hosts', async () => {
      const shared = { apiAddress: '127.0.72.200', apiPort: 7443 };
      const group = groupOf(1);
      await make(group);
      expect(await ask(group, [], shared)).toEqual({
        name: 'default.demo',
        host: '127.0.72.200',
        port: 7443,
        placement: 'control-planes',
      });
      const other = groupOf(1, 'other');
      await expect(ask(other, [], shared)).rejects.toMatchObject({ retryable: false });
      const question = { group: other, specs: ['ssh.any'], controlPlanes: 1 };
      expect((await rack.open(shared).checkCapacity?.(question, signal()))?.code).toBe('stock.api-address-taken');
      await rack.hosts[0]!.goAway();
      await rack.open(shared).deleteGroup(group, signal());
      // The host that does not respond may still hold it.
      await expect(ask(other, [], shared)).rejects.toThrow(/are in use/);
      await rack.hosts[0]!.comeBack();
      await rack.open(shared).recover?.(signal());
      expect((await ask(other, [], shared)).host).toBe('127.0.72.200');
    });

    it('is never one that already responds', async () => {
      rack.standIn('ping', 'for last; do :; done; [ "$last" = 127.0.72.200 ]');
      const shared = { apiAddress: ['127.0.72.200', '127.0.72.201'] };
      const group = groupOf(1);
      expect((await ask(group, [], shared)).host).toBe('127.0.72.201');
      // From then on its own address responds.
      rack.standIn('ping', 'exit 0');
      expect((await ask(group, [], shared)).host).toBe('127.0.72.201');
      const question = { group: groupOf(1, 'other'), specs: ['ssh.any'], controlPlanes: 1 };
      expect((await rack.open(shared).checkCapacity?.(question, signal()))?.code).toBe('stock.api-address-answers');
    });

    it('is your own load balancer, if configured', async () => {
      const group = groupOf(1);
      await make(group);
      expect(await ask(group, [], { apiEndpoint: 'api.example.org:8443' })).toEqual({
        name: 'default.demo',
        host: 'api.example.org',
        port: 8443,
        placement: 'elsewhere',
      });
    });
  });
});
