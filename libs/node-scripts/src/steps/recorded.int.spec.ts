import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { QUESTIONS, type Question } from '../../../../test/recorded/questions.js';
import { recorded as recordedOnHost, RECORDED_VERSIONS } from '../../../../test/recorded/recorded.js';
import { MONITOR_PORT } from '../balancer/haproxy.config.js';
import { balancerCheck } from '../balancer/keepalived.config.js';
import { script } from '../shell/script.js';
import { TestHost } from './host.fixtures.js';
import { LOOKS } from './kubeadm-reset.script.js';
import { CLUSTER, CONTROL_PLANE, PEERS, SHARED, UID } from './steps.fixtures.js';
import { renderStep } from './steps.js';

/** Output of real tools, with their version in the file's name: the scripts parse exactly this. */
const recorded = (name: string): string =>
  readFileSync(new URL(`recorded/etcdctl-3.6.8.${name}.txt`, import.meta.url), 'utf8');

describe('recorded output of etcdctl on a real cluster', () => {
  let host: TestHost;
  const remove = renderStep('etcd-remove-member', {
    member: 'e3',
    address: '198.18.7.13',
    self: 'e1',
    external: false,
  }).script;
  const removals = (): readonly string[] => host.calls('etcdctl').filter((call) => call.includes('member remove'));

  /** etcdctl with recorded output; this many removals are rejected first. */
  const etcdctl = (list: string, refusals = 0): void => {
    host
      .write('/list', recorded(list))
      .write('/health', recorded('endpoint-health'))
      .write('/refused', recorded('member-remove.refused'))
      .standIn(
        'etcdctl',
        `case " $* " in
  *" member list "*) cat "$root/list";;
  *" endpoint health "*) cat "$root/health";;
  *" member remove "*)
    if [ "$(grep -c 'member remove' "$root/calls")" -le ${refusals} ]; then cat "$root/refused" >&2; exit 1; fi;;
esac`,
      )
      .standIn('sleep', 'exit 0');
  };

  beforeEach(() => {
    host = new TestHost();
  });
  afterEach(() => host.remove());

  it('names the member of a control plane', async () => {
    etcdctl('member-list');
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toEqual([expect.stringMatching(/member remove e1d4df4423670a2d$/)]);
  });

  it('names the member left by an interrupted join, which has no name, by its address', async () => {
    etcdctl('member-list.interrupted-join');
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toEqual([expect.stringMatching(/member remove ac199d40b5bd2d1$/)]);
  });

  it('is retried while etcd rejects membership changes, but not forever', async () => {
    etcdctl('member-list', 3);
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toHaveLength(4);
    etcdctl('member-list', 1_000);
    expect(await host.run(remove)).toMatchObject({ code: 1, stderr: expect.stringContaining('unhealthy cluster') });
    expect(removals()).toHaveLength(4 + 8);
  });
});

const bash = (text: string): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', text], { stdio: 'ignore' });
    child.on('error', reject);
    child.on('close', resolve);
  });

describe.each(RECORDED_VERSIONS)('recorded output of tools on a real control plane of %s', (kubernetes) => {
  let host: TestHost;
  const said = (question: Question): string => recordedOnHost(kubernetes, QUESTIONS[question]);
  const prints = (question: Question): string => {
    host.write(`/said/${question}`, said(question));
    return `cat "$root/said/${question}"`;
  };

  beforeEach(() => {
    host = new TestHost();
  });
  afterEach(() => host.remove());

  it('contains the token and the key of a join', async () => {
    host.standIn(
      'kubeadm',
      `case " $* " in *" token create "*) ${prints('token')};; *" upload-certs "*) ${prints('certificateKey')};; esac`,
    );
    const desired = { cluster: CLUSTER, address: CONTROL_PLANE.address, tokenTtlSeconds: 60, certificates: true };
    expect((await host.run(renderStep('credentials', desired).script)).result).toEqual({
      token: 'abcdef.0123456789abcdef',
      certificateKey: '0123456789abcdef'.repeat(4),
    });
  });

  it('contains versions and used ports', async () => {
    host
      .standIn('kubeadm', prints('kubeadm'))
      .standIn('kubelet', prints('kubelet'))
      .standIn('ss', prints('listeners'))
      .standIn('systemctl', 'exit 0');
    const desired = { controlPlane: true, address: '198.18.64.11', kubernetesVersion: kubernetes, failSwapOn: false };
    const { result } = await host.run(renderStep('verify', desired).script);
    expect(result).toEqual({
      problems: expect.arrayContaining(['port 6443 is in use', 'port 10250 is in use']),
    });
    expect(JSON.stringify(result)).not.toMatch(/kubeadm is|kubelet is/);
  });

  it('names the interface with an address', async () => {
    const [, address = ''] = / inet (198\.18\.64\.\d+)\//.exec(said('addresses')) ?? [];
    host
      .standIn('ip', prints('addresses'))
      .standIn('haproxy', 'exit 0')
      .standIn('keepalived', 'exit 0')
      .standIn('systemctl', 'exit 0');
    const self = { ...PEERS[0], address };
    const endpoint = { host: SHARED.address, port: 9998 };
    const { routerId, password } = SHARED;
    const desired = { uid: UID, endpoint, routerId, password, self, peers: PEERS, initialises: false };
    expect(await host.run(renderStep('balance-api', desired).script)).toMatchObject({ code: 0 });
    expect(host.read('/etc/fairlead/balancer/keepalived.conf')).toContain('interface host0');
  });

  /** The output of one inspection function of a reset, as the reset parses it: word by word. */
  const seenBy = async (look: string): Promise<unknown> => {
    const body = `${LOOKS}\nseen=''\nfor each in $(${look}); do seen="$seen\${seen:+,}$(json_text "$each")"; done\nresult "[$seen]"`;
    return (await host.run(script({ step: 'kubeadm-reset', limitSeconds: 30, lockSeconds: null }, body).text)).result;
  };

  it('names the interfaces that a reset removes, and no others', async () => {
    host.standIn('ip', prints('links'));
    expect(await seenBy('devices')).toEqual(['cni0']);
  });

  it('names the nftables tables that a reset removes', async () => {
    host.standIn('nft', prints('tables'));
    expect(await seenBy('tables')).toEqual(expect.arrayContaining(['ip', 'kube-proxy']));
  });

  it('names the sets that a reset destroys', () => expect(said('sets')).toMatch(/^KUBE-RECORDED$/m));

  it('names the containers that a reset stops', async () => {
    const socket = join(host.root, 'run/containerd/containerd.sock');
    mkdirSync(dirname(socket), { recursive: true });
    const runtime = createServer().listen(socket);
    try {
      host.standIn('ctr', `case " $* " in *" tasks "*) ${prints('taskIds')};; *) ${prints('containerIds')};; esac`);
      const id = expect.stringMatching(/^[0-9a-f]{64}$/);
      const tasks = (await seenBy('tasks tasks')) as readonly string[];
      expect(tasks).toEqual(tasks.map(() => id));
      expect(await seenBy('tasks containers')).toEqual(expect.arrayContaining([...tasks]));
    } finally {
      runtime.close();
    }
  });

  it('shows whether a process listens on a port', () =>
    expect([said('apiListener').trim() !== '', said('noListener').trim() !== '']).toEqual([true, false]));

  it('contains what a reset searches for in iptables rules', () => expect(said('rules')).toMatch(/^:KUBE-/m));

  it('is a route to the pods of each other node, if a network creates them', () =>
    expect(said('podRoutes')).toMatch(/^10\.244\.\d+\.0\/24 dev cni0 /));

  it("shows the host's facts, and the user of the inspection", () =>
    expect([said('machine'), said('user')]).toEqual(['x86_64\n', '0\n']));

  it.each([
    ['lets a host have the shared address while haproxy reaches an API server', 'balanced', 0],
    ['takes the shared address from a host whose haproxy reaches none', 'unbalanced', 1],
  ] as const)('%s', async (_title, question, code) => {
    const monitor = createServer((client) => {
      client.once('data', () => client.end(said(question)));
      client.on('error', () => client.destroy()); // The check disconnects after the first line.
    });
    await new Promise<void>((resolve) => monitor.listen(0, '127.0.0.1', resolve));
    const { port } = monitor.address() as AddressInfo;
    const text = balancerCheck(null).replace(String(MONITOR_PORT), String(port));
    try {
      expect(await bash(text)).toBe(code);
    } finally {
      monitor.close();
    }
  });

  it('reports no fault in the configurations for haproxy, keepalived and systemd', () => {
    expect(said('haproxyCheck')).toMatch(/^Configuration file is valid$/m);
    expect(said('keepalivedCheck')).toBe('');
    expect(said('units')).toBe('');
  });

  it('shows the major version of the Node runtime', () => expect(said('node')).toMatch(/^v(\d+)\./));
});
