import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FREE_HOST } from './look.fixtures.js';
import type { HostFacts } from './look.script.js';
import { cloneWarning, problemsOfHost, sameMachine, type Identified } from './look.verdict.js';

const NOW_MS = 1_764_350_000_000;
const AT = { sentMs: NOW_MS, answeredMs: NOW_MS + 1_200 };
const ADDRESS = '10.77.0.2';

/** A machine as an administrator would describe it; the facts of its inspection derive only from this. */
interface Machine {
  readonly isRoot: boolean;
  readonly init: 'systemd' | 'openrc';
  readonly cpu: 'x86_64' | 'aarch64' | 'i686' | 'armv7l';
  readonly kernel: readonly [number, number];
  readonly cgroup: 'v1' | 'v2';
  /** By the profile of its connection. */
  readonly runsOnCgroupV1: boolean;
  readonly address: 'own' | 'own-ipv6' | 'translated';
  readonly clockOffSeconds: number;
  readonly remains: 'nothing' | 'node' | 'manifests' | 'network' | 'k3s' | 'podman' | 'cri-o';
  readonly runs: 'nothing' | 'kubelet' | 'microk8s';
  readonly agentOf: string | null;
  readonly listens: readonly number[];
  readonly interfaces: readonly string[];
  readonly containers: number;
  readonly filters: 'none' | 'kube-proxy' | 'iptables';
  readonly mounts: Readonly<Record<string, 'rw' | 'ro' | 'noexec'>>;
  readonly freeGiB: number;
  readonly usedPercent: number;
}

const REMAINS = {
  nothing: [],
  node: ['/etc/kubernetes/kubelet.conf'],
  manifests: ['/etc/kubernetes/manifests/etcd.yaml'],
  network: ['/etc/cni/net.d/10-calico.conflist'],
  k3s: ['/var/lib/rancher/k3s'],
  podman: ['/etc/cni/net.d/87-podman-bridge.conflist'],
  'cri-o': ['/etc/cni/net.d/100-crio-bridge.conflist'],
};
const RUNS = { nothing: [], kubelet: ['kubelet'], microk8s: ['snap.microk8s.daemon-kubelite'] };
const FILTERS = { none: [], 'kube-proxy': ['ip kube-proxy'], iptables: ['KUBE-SERVICES', 'CNI-HOSTPORT-DNAT'] };
const OPTIONS = { rw: 'rw,relatime', ro: 'ro,relatime', noexec: 'rw,nosuid,noexec' };
const FOLDERS = ['/var/lib', '/opt', '/usr/bin', '/etc', '/tmp'];
const IPV6 = 'fd00::7';

const look = (machine: Machine): HostFacts => ({
  ...FREE_HOST,
  user: machine.isRoot ? '0' : '1000',
  hasSystemd: machine.init === 'systemd',
  machine: machine.cpu,
  kernel: `${machine.kernel.join('.')}.7-generic`,
  cgroup: machine.cgroup,
  addresses: [
    '127.0.0.1',
    '10.0.2.15',
    ...(machine.address === 'own' ? [ADDRESS] : []),
    ...(machine.address === 'own-ipv6' ? ['fd000000000000000000000000000007'] : []),
  ],
  clock: Math.floor(NOW_MS / 1_000) + machine.clockOffSeconds,
  leftovers: REMAINS[machine.remains],
  units: RUNS[machine.runs],
  devices: [...machine.interfaces],
  containers: Array.from({ length: machine.containers }, (_, at) => `${at}`.repeat(64)),
  rules: FILTERS[machine.filters],
  ports: [...machine.listens],
  agent: machine.agentOf === null ? null : { node: machine.agentOf },
  folders: FOLDERS.map((path) => ({
    path,
    freeMiB: machine.freeGiB * 1_024,
    usedPercent: machine.usedPercent,
    options: OPTIONS[machine.mounts[path] ?? 'rw'],
  })),
});

/** The oracle: the expected message for each property that prevents a machine from becoming a node. */
const obstacles = (machine: Machine): readonly RegExp[] => {
  const runsFrom = ['/var/lib', '/opt', '/usr/bin'];
  const mounted = (how: string) => FOLDERS.filter((path) => machine.mounts[path] === how);
  const [major, minor] = machine.kernel;
  const cases: readonly (readonly [boolean, RegExp])[] = [
    [!machine.isRoot, /do not run as root/],
    [machine.init !== 'systemd', /no systemd/],
    [['i686', 'armv7l'].includes(machine.cpu), /architecture/],
    [major * 1_000 + minor < 4_019, /kernel .* is older/],
    [machine.address === 'translated', /no interface with the address 10\.77\.0\.2 \(it has 10\.0\.2\.15\)/],
    [machine.clockOffSeconds > 7, /clock is .* ahead of/],
    [machine.clockOffSeconds < -7, /clock is .* behind/],
    [machine.cgroup === 'v1' && !machine.runsOnCgroupV1, /cgroup v1, .*v1\.35.*unified_cgroup_hierarchy=1/],
    [machine.remains === 'node', /Kubernetes node already/],
    [['manifests', 'network', 'k3s'].includes(machine.remains), /left of another cluster/],
    [machine.remains === 'podman', /87-podman-bridge.conflist is a network of podman/],
    [machine.remains === 'cri-o', /100-crio-bridge.conflist is a network of CRI-O/],
    [machine.runs !== 'nothing', /of another cluster runs/],
    [machine.agentOf !== null, /agent of another cluster/],
    [machine.listens.length > 0, /something listens on port/],
    [machine.interfaces.length > 0, /the interface/],
    [machine.containers > 0, /containers? of another cluster run/],
    [machine.filters !== 'none', /packet filter rules of another cluster are left \((ip kube-proxy|KUBE-SERVICES)/],
    [mounted('noexec').some((path) => runsFrom.includes(path)), /noexec/],
    [mounted('ro').length > 0, /read-only/],
    [machine.freeGiB < 2, /MiB free/],
    [machine.usedPercent > 85, /% full/],
  ];
  return cases.filter(([stands]) => stands).map(([, words]) => words);
};

/** Mostly sound, so that many machines have one fault, some two, and some none. */
const mostly = <T>(sound: T, ...faulty: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(sound), weight: 12 }, { arbitrary: fc.constantFrom(...faulty), weight: 1 });

const machines: fc.Arbitrary<Machine> = fc.record({
  isRoot: mostly<boolean>(true, false),
  init: mostly<Machine['init']>('systemd', 'openrc'),
  cpu: fc.oneof(fc.constant<'x86_64'>('x86_64'), mostly<Machine['cpu']>('aarch64', 'i686', 'armv7l')),
  kernel: mostly<readonly [number, number]>([6, 12], [4, 18], [3, 10], [4, 19], [5, 4]),
  address: mostly<Machine['address']>('own', 'own-ipv6', 'translated'),
  clockOffSeconds: mostly(0, -129_600, 172_800, 12, -12, 3, -3),
  cgroup: mostly<Machine['cgroup']>('v2', 'v1'),
  runsOnCgroupV1: fc.boolean(),
  remains: mostly<Machine['remains']>('nothing', 'node', 'manifests', 'network', 'k3s', 'podman', 'cri-o'),
  runs: mostly<Machine['runs']>('nothing', 'kubelet', 'microk8s'),
  agentOf: mostly<string | null>(null, '', 'demo-w-1-aaaaa'),
  listens: mostly<readonly number[]>([], [6443], [2379, 2380, 10250]),
  interfaces: mostly<readonly string[]>([], ['cni0'], ['flannel.1', 'cali12ab']),
  containers: mostly(0, 1, 9),
  filters: mostly<Machine['filters']>('none', 'kube-proxy', 'iptables'),
  mounts: fc.dictionary(fc.constantFrom(...FOLDERS), mostly<'rw' | 'ro' | 'noexec'>('rw', 'ro', 'noexec')),
  freeGiB: mostly(30, 0.1, 1.5),
  usedPercent: mostly(40, 86, 99, 85),
});

const expectedOf = (machine: Machine) => ({
  address: machine.address === 'own-ipv6' ? IPV6 : ADDRESS,
  lookedAt: AT,
  cgroupV1: machine.runsOnCgroupV1,
});

describe('the verdict on a host', () => {
  it('accepts exactly the machines that can become a node, and names every obstacle of the others', () => {
    fc.assert(
      fc.property(machines, (machine) => {
        const found = problemsOfHost(look(machine), expectedOf(machine));
        const named = obstacles(machine);
        expect(found.length > 0).toBe(named.length > 0);
        for (const words of named) expect(found.join('; ')).toMatch(words);
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not reject a host for a slow inspection', () => {
    const slow = { sentMs: NOW_MS, answeredMs: NOW_MS + 25_000 };
    const facts = { ...FREE_HOST, clock: Math.floor(NOW_MS / 1_000) + 20 };
    expect(problemsOfHost(facts, { address: null, lookedAt: slow })).toEqual([]);
  });

  it('states how far its clock is off', () => {
    const off = (seconds: number) =>
      problemsOfHost({ ...FREE_HOST, clock: NOW_MS / 1_000 + seconds }, { address: null, lookedAt: AT })[0];
    expect(off(-129_600)).toMatch(/^its clock is 36 h behind the clock of Fairlead: /);
    expect(off(172_801)).toMatch(/^its clock is 48 h ahead of the clock of Fairlead: /);
    expect(off(-61)).toMatch(/^its clock is 60 s behind/);
  });
});

describe('hosts of one inventory', () => {
  const host = (name: string, machineId: string, addresses: readonly string[], hostKey = name): Identified => ({
    name,
    hostKey,
    facts: { machineId, addresses: ['127.0.0.1', ...addresses] },
  });
  const one = host('m1', 'aa', ['10.0.0.1', '10.0.0.3']);

  it('are the same machine if they share the machine-id and all addresses', () => {
    expect(sameMachine(host('m3', 'aa', ['10.0.0.3', '10.0.0.1']), [one])?.name).toBe('m1');
    expect(sameMachine(host('m2', 'aa', ['10.0.0.2']), [one])).toBeUndefined();
    expect(sameMachine(host('m2', 'bb', ['10.0.0.1', '10.0.0.3']), [one])).toBeUndefined();
    expect(sameMachine(host('m3', '', ['10.0.0.1'], 'k'), [host('m1', '', ['10.0.0.1'], 'k')])?.name).toBe('m1');
    expect(sameMachine(host('m3', 'aa', []), [host('m1', 'aa', [])])).toBeUndefined();
  });

  it('are reported as clones, with the command that fixes it', () => {
    expect(cloneWarning(host('m2', 'aa', ['10.0.0.2']), [one])).toMatch(/machine-id of m1.*systemd-machine-id-setup/);
    expect(cloneWarning(host('m2', 'bb', ['10.0.0.2'], 'm1'), [one])).toMatch(/host key of m1.*ssh-keygen -A/);
    expect(cloneWarning(host('m2', 'bb', ['10.0.0.2']), [one])).toBeUndefined();
  });
});
