import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { localMirror } from '@fairlead/mirror';
import type { Host } from '@fairlead/nspawn';
import { runCommand } from '@fairlead/embedded/process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { changes, survey } from './host.survey.js';
import { eventually, rolledOut, type Kubectl } from './kubectl.js';
import { MIRROR_AT, profileOf, startOwnHosts, type FoundHost, type OwnHosts } from './own.hosts.js';
import { VERSION } from './real.system.js';
import { addressesOfPods, talks, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'field-hosts';
const SOURCE = { kind: 'files', location: MIRROR_AT, unsigned: true } as const;
const SHELL = fileURLToPath(new URL('bare-shell/', import.meta.url));
/** Address at which clients reach a host with another own address. */
const FLOATING = '203.0.113.33';
const FLOATING_NETWORK = '203.0.113.0/24';
/** A second address of a host in the hosts' network. */
const SECOND = '198.18.68.9';
const NAT_ADDRESS = '10.0.2.15';
const NODE_PORT = 30_080;

/** These hosts have their own Node.js there, which is kept. */
const RUNTIME = { profile: { ...profileOf(SOURCE), nodeBinary: '/opt/fairlead/node' } };

const [NAT, NICS, LEFT] = ['behind-nat', 'two-nics', 'left-behind'] as const;

const say = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`);

/**
 * Like Vagrant and many hypervisors: the default route uses an interface with the same address on every host, behind a
 * separate router that reaches no other host.
 */
const SECOND_INTERFACE = `
ip netns add router
ip link add nat0 type veth peer name vethr netns router
ip -n router address add 10.0.2.2/24 dev vethr
ip -n router link set lo up
ip -n router link set vethr up
ip address add ${NAT_ADDRESS}/24 dev nat0
ip link set nat0 up
while ip route delete default 2>/dev/null; do :; done
ip route add default via 10.0.2.2 dev nat0
[ "$(ip route get 192.0.2.1 | sed -n 's/.* src \\([0-9.]*\\).*/\\1/p')" = ${NAT_ADDRESS} ]`;

/** A cluster set up by kubeadm's own manual, with flannel, until its node has pods with their own interfaces. */
const clusterByHand = (address: string): string => `
version=${VERSION} endpoint=${address}
${readFileSync(join(SHELL, 'cluster.sh'), 'utf8')}
software | bash -s "$version"
cd ${MIRROR_AT}/images
for image in "$version"/*.tar *.tar; do ctr -n k8s.io images import "$image" >/dev/null; done
init_config ${address} >/root/kubeadm.yaml
kubeadm init --config /root/kubeadm.yaml
export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl apply -f /root/flannel.yaml
kubectl taint nodes --all node-role.kubernetes.io/control-plane-
kubectl -n kube-system rollout status deployment/coredns --timeout=180s`;

/** Remains that kubeadm reset lists, and the programs and files of the manual cluster. */
const AFTER_RESET = `
rm -rf /etc/cni/net.d/* /root/kubeadm.yaml /root/flannel.yaml /root/.kube
ip link delete cni0
for table in $(nft list tables | awk '/kube-proxy|flannel/ { print $2 "/" $3 }'); do nft delete table "\${table%/*}" "\${table#*/}"; done
for kind in iptables ip6tables; do command -v $kind-save >/dev/null && $kind-save | grep -vE 'KUBE-|FLANNEL|CNI-' | $kind-restore; done || true
systemctl disable --now kubelet
rm -rf /usr/bin/kubeadm /usr/bin/kubelet /usr/bin/kubectl /opt/cni/bin/* /run/flannel`;

interface Item {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly status: { readonly addresses: readonly { readonly type: string; readonly address: string }[] };
}

// Requires an isolated network namespace: npm run e2e:real -- field-hosts.
const inOwnNetwork = process.env['FAIRLEAD_OWN_NETWORK'] === 'yes';

(inOwnNetwork ? describe : describe.skip)('hosts as they are met in the field', () => {
  let hosts: OwnHosts;
  let kubectl: Kubectl;
  const before = new Map<string, ReadonlySet<string>>();

  const hostOf = (name: string): Host => {
    const host = hosts.hosts.find((one) => one.name === name);
    if (host === undefined) throw new Error(`there is no host ${name}`);
    return host;
  };
  const own = (name: string): string => hostOf(name).address;
  const entry = (name: string, more: object = {}): object => {
    const { address, hostKey } = hostOf(name);
    return { name, address, user: 'ops', hostKey, ...more };
  };
  const NETWORKED = (): readonly object[] => [
    entry(NAT, { address: FLOATING, privateAddress: own(NAT), spec: 'site.control-plane' }),
    entry(NICS),
    entry(LEFT),
  ];
  const problemOf = (found: readonly FoundHost[], name: string): string =>
    found.find((host) => host.name === name)?.problem ?? `there is no ${name}`;
  const here = async (program: string, ...words: readonly string[]): Promise<void> => {
    const { code, stderr } = await runCommand(program, words, { timeoutMs: MINUTE_MS });
    if (code !== 0) throw new Error(`${program} ${words.join(' ')}: ${stderr}`);
  };
  const longOnHost = async (name: string, script: string): Promise<string> => {
    const { code, stdout, stderr } = await hosts.local.hosts.execute(name, ['bash', '-ec', script], 6 * MINUTE_MS);
    if (code !== 0) throw new Error(`on ${name}: ${stderr}${stdout}`);
    return stdout;
  };

  beforeAll(async () => {
    hosts = await startOwnHosts({
      names: [NAT, NICS, LEFT],
      cidr: '198.18.68.0/24',
      readOnly: { [MIRROR_AT]: localMirror(process.env) },
      before: SECOND_INTERFACE,
    });
    await hosts.onHost(NICS, 'ip', 'address', 'add', `${SECOND}/24`, 'dev', 'host0');
    // 1:1 NAT, as for a floating IP: the host itself never sees the address.
    await here('ip', 'route', 'add', FLOATING_NETWORK, 'via', own(NAT));
    await here('nft', 'add table ip floating');
    await here('nft', 'add chain ip floating output { type nat hook output priority -100; }');
    await here('nft', `add rule ip floating output ip daddr ${FLOATING} dnat to ${own(NAT)}`);
    for (const name of [NAT, NICS]) before.set(name, await survey(hosts, name));
  }, 6 * MINUTE_MS);

  afterAll(() => hosts?.stop(), 3 * MINUTE_MS);

  it(
    'are refused by name if the inventory has an address that the host lacks, and usable with its privateAddress',
    async () => {
      const withoutPrivate = [entry(NAT, { address: FLOATING }), entry(NICS)];
      await expect(hosts.register(SOURCE, withoutPrivate)).rejects.toThrow(
        new RegExp(`Host ${NAT} of connection site has the address ${FLOATING}, which is not in its networkCidr`),
      );
      const wrong = await hosts.register(SOURCE, withoutPrivate, { ...RUNTIME, networkCidr: undefined });
      expect(problemOf(wrong, NAT)).toMatch(
        new RegExp(`^it has no interface with the address ${FLOATING} \\(it has .*${own(NAT)}.*privateAddress$`),
      );
      expect(problemOf(wrong, NICS)).toBe('');
      const right = await hosts.register(SOURCE, NETWORKED(), RUNTIME);
      expect(problemOf(right, NAT)).toBe('');
    },
    2 * MINUTE_MS,
  );

  it(
    'are used once if listed twice, and clones are reported',
    async () => {
      await hosts.onHost(LEFT, 'cp', '/etc/machine-id', '/run/machine-id.own');
      const cloned = await hosts.onHost(NICS, 'cat', '/etc/machine-id');
      await longOnHost(LEFT, `echo ${cloned} >/etc/machine-id`);
      const found = await hosts.register(
        SOURCE,
        [...NETWORKED(), entry(NICS, { name: 'twin', address: SECOND })],
        RUNTIME,
      );
      expect(problemOf(found, 'twin')).toBe(
        `it is the same machine as ${NICS}: list each machine once, with one address`,
      );
      expect(found.find(({ name }) => name === LEFT)).toMatchObject({
        problem: '',
        warning: expect.stringMatching(new RegExp(`^it has the machine-id of ${NICS}, as a clone has`)),
      });
      await longOnHost(LEFT, 'cat /run/machine-id.own >/etc/machine-id; rm /run/machine-id.own');
      const again = await hosts.register(SOURCE, NETWORKED(), RUNTIME);
      expect(again.map(({ problem, warning }) => [problem, warning])).toEqual([
        ['', ''],
        ['', ''],
        ['', ''],
      ]);
    },
    2 * MINUTE_MS,
  );

  it(
    'are refused by name while remains of another cluster are on them, with all obstacles, until they are gone',
    async () => {
      await writeFlannel();
      await longOnHost(LEFT, clusterByHand(own(LEFT)));
      const running = problemOf(await hosts.verify(), LEFT);
      say(`a node of another cluster: ${running}`);
      for (const words of [
        /it is a Kubernetes node already \(\/etc\/kubernetes\/(kubelet|admin)\.conf exists\)/,
        /kubelet of another cluster runs: stop and remove it/,
        /\d+ containers of another cluster run/,
        /the interface cni0 is left of another cluster/,
        /packet filter rules of another cluster are left \(ip6? kube-proxy/,
        /something listens on port 6443, port 2379/,
      ])
        expect(running).toMatch(words);
      // A hasty cleanup: the kubelet is gone, its containers keep running.
      await longOnHost(LEFT, 'systemctl disable --now kubelet; rm -rf /etc/kubernetes');
      const hasty = problemOf(await hosts.verify(), LEFT);
      say(`without its kubelet and /etc/kubernetes: ${hasty}`);
      expect(hasty).toMatch(/containers of another cluster run/);
      await longOnHost(LEFT, 'kubeadm reset --force');
      const reset = problemOf(await hosts.verify(), LEFT);
      say(`after kubeadm reset: ${reset}`);
      expect(reset).toMatch(/10-flannel.conflist is left of another cluster/);
      expect(reset).toMatch(/packet filter rules of another cluster are left/);
      await longOnHost(LEFT, AFTER_RESET);
      expect(problemOf(await hosts.verify(), LEFT)).toBe('');
      before.set(LEFT, await survey(hosts, LEFT));
    },
    10 * MINUTE_MS,
  );

  it(
    "become one cluster in which every network uses each node's own address, and the other interface is unused",
    async () => {
      const events = await hosts.create(CLUSTER, 2, {
        controlPlane: [{ connection: 'site', count: 1, spec: 'site.control-plane' }],
      });
      kubectl = await hosts.kubectl(CLUSTER);
      const nodes = (JSON.parse(await kubectl('get', 'nodes', '-o', 'json')) as { readonly items: readonly Item[] })
        .items;
      const addresses = [NAT, NICS, LEFT].map(own).sort();
      const internal = nodes.flatMap(({ status }) => status.addresses.filter(({ type }) => type !== 'Hostname'));
      expect(internal.map(({ address }) => address).sort()).toEqual(addresses);
      const flannel = nodes.map(({ metadata }) => metadata.annotations?.['flannel.alpha.coreos.com/public-ip']);
      expect(flannel.sort()).toEqual(addresses);
      const slices = await kubectl('get', 'endpointslices', 'kubernetes', '-o', 'jsonpath={..addresses[*]}');
      expect(slices.trim()).toBe(own(NAT));
      const members = await kubectl(
        ...['-n', 'kube-system', 'get', 'pods', '-l', 'component=etcd', '-o', 'jsonpath={..command}'],
      );
      expect(members).toContain(`--advertise-client-urls=https://${own(NAT)}:2379`);
      expect(members).toContain(`--initial-advertise-peer-urls=https://${own(NAT)}:2380`);
      const everything = await kubectl(
        'get',
        'all,nodes,endpoints,endpointslices,configmaps,leases',
        '-A',
        '-o',
        'yaml',
      );
      for (const [what, text] of [
        ['the API', everything],
        // An agent reports every address of its host. Nothing else may name the other interface.
        ['the log of Fairlead', JSON.stringify(events.filter(({ type }) => type !== 'NodeAddressesReported'))],
      ] as const)
        for (const foreign of [NAT_ADDRESS, '10.0.2.2', SECOND])
          expect([what, text.includes(foreign)]).toEqual([what, false]);
      for (const name of [NAT, NICS, LEFT]) {
        const told = `grep -rlE '10\\.0\\.2\\.|${SECOND.replaceAll('.', '\\.')}' /etc/kubernetes /etc/fairlead /etc/cni /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /run/flannel 2>/dev/null || true`;
        expect([name, await hosts.onHost(name, 'sh', '-c', told)]).toEqual([name, '']);
      }
    },
    12 * MINUTE_MS,
  );

  it(
    'run pods that reach each other, and node ports at their own addresses only',
    async () => {
      const manifest = join(hosts.system.environment.dataDir, 'web.json');
      await writeFile(manifest, JSON.stringify(webManifests));
      await kubectl('apply', '-f', manifest);
      await rolledOut(kubectl, 'deployment/web');
      const pods = await addressesOfPods(kubectl);
      expect(new Set(pods.map(({ node }) => node)).size).toBe(2);
      for (const from of pods) expect(await talks(kubectl, from.name, pods)).toEqual([]);
      const patch = { spec: { type: 'NodePort', ports: [{ port: 80, targetPort: 8080, nodePort: NODE_PORT }] } };
      await kubectl('patch', 'service', 'web', '--type=merge', '-p', JSON.stringify(patch));
      const asked = (address: string) => async (): Promise<number | string> =>
        fetch(`http://${address}:${NODE_PORT}/`, { signal: AbortSignal.timeout(2_000) }).then(
          ({ status }) => status,
          () => 'no answer',
        );
      for (const name of [NAT, NICS, LEFT])
        await eventually(`the node port of ${name}`, asked(own(name)), (answer) => answer === 200, MINUTE_MS);
      expect(await asked(SECOND)()).toBe('no answer');
      const beside = `ip netns exec router timeout 3 bash -c 'exec 3<>/dev/tcp/${NAT_ADDRESS}/${NODE_PORT}' 2>/dev/null && echo open || echo closed`;
      for (const name of [NAT, NICS]) expect(await hosts.onHost(name, 'bash', '-c', beside)).toBe('closed');
    },
    6 * MINUTE_MS,
  );

  it(
    'also have the API at the address by which the host is reached from outside',
    async () => {
      expect(await kubectl('--server', `https://${FLOATING}:6443`, 'get', '--raw', '/readyz')).toBe('ok');
    },
    MINUTE_MS,
  );

  it(
    'are returned in their original state when the cluster is deleted',
    async () => {
      await hosts.remove(CLUSTER);
      const states = (await hosts.verify()).map(({ name, state, problem }) => ({ name, state, problem }));
      expect(states).toEqual([NAT, NICS, LEFT].map((name) => ({ name, state: 'free', problem: '' })));
      for (const name of [NAT, NICS, LEFT]) {
        const seen = changes(before.get(name) ?? new Set(), await survey(hosts, name));
        say(`${name}: ${seen.length === 0 ? 'as it was' : seen.join('\n  ')}`);
        // Images and logs that the manual cluster had left on one of them are gone, too.
        const wrong = name === LEFT ? seen.filter((line) => line.startsWith('+')) : seen;
        expect([name, wrong]).toEqual([name, []]);
      }
    },
    6 * MINUTE_MS,
  );

  /** Writes the shell cluster's manifests to the host. */
  const writeFlannel = async (): Promise<void> => {
    const text = Buffer.from(readFileSync(join(SHELL, 'flannel.yaml'))).toString('base64');
    await longOnHost(LEFT, `echo ${text} | base64 -d >/root/flannel.yaml`);
  };
});
