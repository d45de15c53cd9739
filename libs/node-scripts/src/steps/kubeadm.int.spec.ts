import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { authenticationConfig } from '../kubeadm/authentication.config.js';
import { TestHost } from './host.fixtures.js';
import { BASELINE, CLUSTER, CONTROL_PLANE, CREDENTIALS, ETCD_CLUSTER, OIDC, UID, WORKER } from './steps.fixtures.js';
import { renderStep } from './steps.js';

let host: TestHost;

beforeEach(() => {
  host = new TestHost();
});

afterEach(() => host.remove());

describe('kubeadm init', () => {
  const text = renderStep('kubeadm-init', {
    uid: UID,
    cluster: CLUSTER,
    node: CONTROL_PLANE,
    schedulable: false,
  }).script;
  const KUBECONFIG = Buffer.from('kubeconfig\n').toString('base64');
  const kubeadm = (before = ''): string =>
    `[ "$1" = init ] || exit 0\n${before}\nmkdir -p "$root/etc/kubernetes"; echo kubeconfig >"$root/etc/kubernetes/admin.conf"`;

  it('runs once; a second run returns the same result and changes nothing', async () => {
    host.standIn('kubeadm', kubeadm());
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true, kubeconfig: KUBECONFIG } });
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: false, kubeconfig: KUBECONFIG } });
    expect(host.calls('kubeadm')).toHaveLength(1);
    expect(host.calls('kubeadm')[0]).toContain('--config');
  });

  it('leaves neither super-admin.conf, which bypasses RBAC, nor its configuration on the disk', async () => {
    host.standIn('kubeadm', `${kubeadm()}; echo all >"$root/etc/kubernetes/super-admin.conf"`);
    expect((await host.run(text)).code).toBe(0);
    expect(host.read('/etc/kubernetes/super-admin.conf')).toBeUndefined();
    expect(host.read('/run/fairlead/kubeadm-init.yaml')).toBeUndefined();
    expect(host.read('/etc/fairlead/kubeadm-init.yaml')).toBeUndefined();
    // Also one left by an earlier release.
    host.write('/etc/kubernetes/super-admin.conf', 'all');
    expect((await host.run(text)).result).toEqual({ changed: false, kubeconfig: KUBECONFIG });
    expect(host.read('/etc/kubernetes/super-admin.conf')).toBeUndefined();
  });

  it('is rejected on a host that is another control plane', async () => {
    host.standIn('kubeadm', kubeadm()).write('/etc/kubernetes/admin.conf', 'of another cluster');
    const { code, stderr } = await host.run(text);
    expect([code, stderr]).toEqual([1, expect.stringContaining('refusing to initialise it again')]);
    expect(host.calls('kubeadm')).toEqual([]);
    expect(host.read('/etc/kubernetes/admin.conf')).toBe('of another cluster');
  });

  it('that was interrupted empties an external etcd, and leaves its data folder alone', async () => {
    const external = renderStep('kubeadm-init', {
      uid: UID,
      cluster: ETCD_CLUSTER,
      node: CONTROL_PLANE,
      schedulable: false,
    }).script;
    host
      .standIn('kubeadm', kubeadm())
      .write(`/var/lib/fairlead/kubeadm-init.${UID}.started`, '')
      .write('/var/lib/etcd/member/wal/0.wal', 'of the member')
      .write('/opt/fairlead/etcd/etcdctl', '#!/bin/sh\necho "etcdctl $*" >>"$FAIRLEAD_ROOT/calls"\n');
    chmodSync(join(host.root, 'opt/fairlead/etcd/etcdctl'), 0o755);
    expect(await host.run(external)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('etcdctl')).toEqual([expect.stringMatching(/ del {2}--prefix$/)]);
    expect(host.read('/var/lib/etcd/member/wal/0.wal')).toBe('of the member');
    expect(await host.run(external)).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.calls('etcdctl')).toHaveLength(1);
  });

  it('that was interrupted is cleaned up and started again', async () => {
    host.standIn(
      'kubeadm',
      `${kubeadm()}; [ -e "$root/well" ] || { touch "$root/well"; echo "no space left" >&2; exit 1; }`,
    );
    expect(await host.run(text)).toMatchObject({ code: 1, stderr: 'no space left' });
    host.write('/var/lib/etcd/member/wal', 'half');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('kubeadm').map((call) => call.split(' ')[1])).toEqual(['init', 'reset', 'init']);
    expect(host.read('/var/lib/etcd/member/wal')).toBeUndefined();
  });

  it('ignores a proxy of the login: it would write it into the static pods, and access the API through it', async () => {
    const names = ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy', 'ftp_proxy'];
    const proxies = [...names, ...names.map((name) => name.toUpperCase())];
    host.login = Object.fromEntries(proxies.map((name) => [name, 'http://10.0.0.1:3128']));
    host.standIn('kubeadm', kubeadm('env >"$root/environment"'));
    expect((await host.run(text)).code).toBe(0);
    expect(host.read('/environment')).toContain('PATH=');
    expect(host.read('/environment')).not.toMatch(/_proxy/i);
  });

  it('never runs twice at the same time', async () => {
    host.standIn('kubeadm', kubeadm('sleep 0.5'));
    const ran = await Promise.all([host.run(text), host.run(text), host.run(text)]);
    expect(ran.map(({ result }) => (result as { changed: boolean }).changed).sort()).toEqual([false, false, true]);
    expect(host.calls('kubeadm')).toHaveLength(1);
  });
});

describe('how users sign in', () => {
  const FILE = '/etc/kubernetes/authentication/config.yaml';
  const READ = 'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds';
  const [former, content] = [authenticationConfig(undefined), authenticationConfig(OIDC)];
  const step = renderStep('authentication', { address: '198.18.7.11', content }).script;
  /** Metrics of the API server: its start, and its last reloads. */
  const says = (startedAt: number, ...reloads: readonly string[]): void => {
    host.standIn(
      'kubectl',
      ['cat <<END', `process_start_time_seconds ${startedAt.toExponential()}`, ...reloads, 'END'].join('\n'),
    );
  };
  const seconds = (offset: number): number => Date.now() / 1_000 + offset;

  it("changes with the file once the API server at the node's own address has loaded it", async () => {
    host.write(FILE, former);
    says(seconds(-600), `${READ}{apiserver_id_hash="sha256:ab",status="success"} ${seconds(60).toExponential()}`);
    expect(await host.run(step)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(FILE)).toBe(content);
    expect(host.calls('kubectl')[0]).toMatch(/--server https:\/\/198\.18\.7\.11:6443 .* get --raw \/metrics$/);
    expect(await host.run(step)).toMatchObject({ code: 0, result: { changed: false } });
  });

  it('changes when an API server started since has read the file', async () => {
    host.write(FILE, content);
    says(seconds(60));
    expect(await host.run(step)).toMatchObject({ code: 0, result: { changed: false } });
  });

  it('is unchanged while the API server rejects the file, or has only read the previous one', async () => {
    host.write(FILE, former);
    const impatient = step.replace('-lt 150', '-lt 2');
    says(
      seconds(-600),
      `${READ}{apiserver_id_hash="sha256:ab",status="failure"} ${seconds(60).toExponential()}`,
      `${READ}{apiserver_id_hash="sha256:ab",status="success"} ${seconds(-60).toExponential()}`,
    );
    const { code, stderr } = await host.run(impatient);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/it must reach the issuer and trust its certificate/)]);
    host.standIn('kubectl', 'echo "connection refused" >&2; exit 1');
    expect((await host.run(impatient)).code).toBe(1);
    expect(host.read('/var/log/fairlead/authentication.log')).toContain('connection refused');
  });

  it('cannot change if the API server was started without the file', async () => {
    const { code, stderr } = await host.run(step);
    expect([code, stderr]).toEqual([1, expect.stringContaining('was started without a file')]);
    expect(host.read(FILE)).toBeUndefined();
  });
});

describe('joins', () => {
  const worker = renderStep('kubeadm-join-worker', {
    uid: UID,
    cluster: CLUSTER,
    node: WORKER,
    credentials: CREDENTIALS,
  });
  const kubeadm =
    '[ "$1" = join ] || exit 0\nmkdir -p "$root/etc/kubernetes"; echo k >"$root/etc/kubernetes/kubelet.conf"\n' +
    'cp "$root/run/fairlead/kubeadm-join.yaml" "$root/seen.yaml"; env >"$root/environment"';
  const LEFT = [
    '/run/fairlead/kubeadm-join.yaml',
    '/run/fairlead/kubeadm-join.yaml.new',
    '/etc/fairlead/kubeadm-join.yaml',
  ];
  const left = () => LEFT.filter((path) => host.read(path) !== undefined);

  it('run once, and leave no credentials on the host', async () => {
    host.standIn('kubeadm', kubeadm);
    expect(await host.run(worker.script)).toMatchObject({ code: 0, result: { changed: true } });
    expect(await host.run(worker.script)).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.calls('kubeadm')).toHaveLength(1);
    expect(host.read('/seen.yaml')).toContain(CREDENTIALS.token);
    expect(left()).toEqual([]);
  });

  it('leave no token on the disk if kubeadm fails, or if an earlier step was killed', async () => {
    host.standIn('kubeadm', `${kubeadm}; exit 1`).write('/etc/fairlead/kubeadm-join.yaml', 'token: of before');
    expect((await host.run(worker.script)).code).toBe(1);
    expect(host.read('/seen.yaml')).toContain(CREDENTIALS.token);
    expect(left()).toEqual([]);
    const [secret = ''] = CREDENTIALS.token.split('.').slice(1);
    const { stdout } = spawnSync('grep', ['-rlF', secret, host.root], { encoding: 'utf8' });
    expect(stdout.split('\n').filter((file) => file !== '' && !file.endsWith('/seen.yaml'))).toEqual([]);
  });

  it('do not reveal their token in arguments or environments', async () => {
    host.standIn('kubeadm', kubeadm);
    await host.run(worker.script);
    expect(host.read('/environment')).toContain('PATH=');
    expect(host.read('/environment')).not.toContain(CREDENTIALS.token);
    expect(host.calls('kubeadm').join('\n')).not.toContain(CREDENTIALS.token);
  });

  it('a host that is a node of another cluster is rejected', async () => {
    host.standIn('kubeadm', kubeadm).write('/etc/kubernetes/kubelet.conf', 'of another cluster');
    expect(await host.run(worker.script)).toMatchObject({ code: 1, stderr: expect.stringContaining('refusing') });
    expect(host.calls('kubeadm')).toEqual([]);
  });

  it('an interrupted one is cleaned up and started again', async () => {
    host.standIn('kubeadm', `${kubeadm}\n[ -e "$root/well" ] || { touch "$root/well"; exit 1; }`);
    expect((await host.run(worker.script)).code).toBe(1);
    expect(await host.run(worker.script)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('kubeadm').map((call) => call.split(' ')[1])).toEqual(['join', 'reset', 'join']);
  });
});

describe('the join of a control plane that was interrupted', () => {
  const join = (afterInterruption: boolean): string =>
    renderStep('kubeadm-join-control-plane', {
      uid: UID,
      cluster: CLUSTER,
      node: CONTROL_PLANE,
      credentials: CREDENTIALS,
      afterInterruption,
    }).script;
  const calls = (): readonly (string | undefined)[] => host.calls('kubeadm').map((call) => call.split(' ')[1]);

  it('is left unchanged until its member has left etcd, then cleaned up and started again', async () => {
    host.standIn(
      'kubeadm',
      `[ "$1" = join ] || exit 0
[ -e "$root/well" ] || { touch "$root/well"; mkdir -p "$root/var/lib/etcd/member"; exit 1; }
mkdir -p "$root/etc/kubernetes"; echo k >"$root/etc/kubernetes/kubelet.conf"`,
    );
    expect((await host.run(join(false))).code).toBe(1);
    expect((await host.run(join(false))).result).toEqual({ changed: false, interrupted: true });
    expect(calls()).toEqual(['join']);
    expect((await host.run(join(true))).result).toEqual({ changed: true, interrupted: false });
    expect(calls()).toEqual(['join', 'reset', 'join']);
    expect(host.read('/var/lib/etcd/member')).toBeUndefined();
    expect((await host.run(join(false))).result).toEqual({ changed: false, interrupted: false });
    expect((await host.run(join(true))).result).toEqual({ changed: false, interrupted: false });
  });
});

describe('credentials', () => {
  const text = renderStep('credentials', {
    cluster: CLUSTER,
    address: CONTROL_PLANE.address,
    tokenTtlSeconds: 1800,
    certificates: true,
  }).script;
  const key = 'cd'.repeat(32);

  it("are found within kubeadm's other output [CB-Ladybug 16]", async () => {
    host.standIn(
      'kubeadm',
      `case "$1" in token) echo "W1121 a warning" >&2; echo abcdef.0123456789abcdef;;
       init) echo "[upload-certs] Storing the certificates in Secret"; echo "[upload-certs] Using certificate key:"; echo ${key};; esac`,
    );
    const { result } = await host.run(text);
    expect(result).toEqual({ token: 'abcdef.0123456789abcdef', certificateKey: key });
    expect(host.calls('kubeadm')[0]).toBe('kubeadm token create --ttl 1800s --description Fairlead join');
    expect(host.read('/run/fairlead/credentials.said')).toBeUndefined();
  });

  it('that were interrupted are not left on the disk', async () => {
    host.standIn('kubeadm', 'case "$1" in token) echo abcdef.0123456789abcdef;; *) exit 1;; esac');
    expect((await host.run(text)).code).toBe(1);
    const { stdout } = spawnSync('grep', ['-rlF', '0123456789abcdef', host.root], { encoding: 'utf8' });
    expect(stdout.split('\n').filter((file) => file !== '' && !file.includes('/stand-ins/'))).toEqual([]);
    expect(host.read('/etc/fairlead/upload-certs.yaml')).toBeUndefined();
  });

  it('that kubeadm does not print are a failure, not an empty result', async () => {
    host.standIn('kubeadm', 'echo nothing of use');
    expect(await host.run(text)).toMatchObject({ code: 1, stderr: 'kubeadm token create printed no token' });
  });
});

describe('kubeadm reset', () => {
  const text = renderStep('kubeadm-reset', { removeAgent: true, of: UID }).script;

  it("on a returned host removes a non-root user's uploads, and steps of earlier releases there", async () => {
    host.standIn('systemctl', 'exit 0');
    const home = '/home/ops';
    const gone = [`${home}/.fairlead/${'a'.repeat(64)}`, `${home}/.fairlead/steps/kubeadm-join-worker-1.json`];
    for (const path of [...gone, `${home}/.fairlead/instance/file`]) host.write(path, 'something');
    const wipe = { baseline: BASELINE, keepRuntime: true };
    await host.run(renderStep('kubeadm-reset', { removeAgent: true, of: UID, wipe }).script, 'ops');
    for (const path of gone) expect([path, host.read(path)]).toEqual([path, undefined]);
    expect(host.read(`${home}/.fairlead/instance/file`)).toBe('something');
  });

  it('ends processes that the agent left behind, such as an apt-get', async () => {
    host.standIn('systemctl', 'exit 0').write('/etc/systemd/system/fairlead-agent.service', 'u');
    const begun = spawn('sleep', ['60']);
    const ended = new Promise((resolve) => begun.once('exit', (_code, signal) => resolve(signal)));
    host.write('/sys/fs/cgroup/system.slice/fairlead-agent.service/cgroup.procs', `${begun.pid}\n`);
    expect(await host.run(text)).toMatchObject({ code: 0 });
    expect(await ended).toBe('SIGTERM');
  });

  it('makes the host one that never was a node; a second run has nothing to do', async () => {
    const gone = [
      '/etc/fairlead/nats.creds',
      '/etc/fairlead/balancer/keepalived.conf',
      '/etc/systemd/system/fairlead-haproxy.service',
      '/etc/kubernetes/pki/ca.key',
      '/etc/cni/net.d/10-flannel.conflist',
      '/opt/fairlead/agent.mjs',
      '/var/lib/kubelet/config.yaml',
      '/var/lib/etcd/member/wal',
      '/var/lib/fairlead/agent-state.json',
      `/var/lib/fairlead/kubeadm-join.${UID}.finished`,
    ];
    host.standIn('kubeadm', 'rm -f "$root/etc/kubernetes/kubelet.conf"').standIn('systemctl', 'exit 0');
    for (const path of [...gone, '/etc/kubernetes/kubelet.conf', '/etc/systemd/system/fairlead-agent.service'])
      host.write(path, 'something');
    host
      .write('/etc/hosts', '127.0.0.1\tlocalhost\n127.0.1.1 demo-w-1 # fairlead\n')
      .write('/opt/fairlead/mirror/file', 'm');
    expect((await host.run(text)).result).toEqual({ changed: true, left: [] });
    for (const path of gone) expect([path, host.read(path)]).toEqual([path, undefined]);
    expect([host.read('/etc/hosts'), host.read('/opt/fairlead/mirror/file')]).toEqual(['127.0.0.1\tlocalhost\n', 'm']);
    expect((await host.run(text)).result).toEqual({ changed: false, left: [] });
    expect(host.calls('kubeadm')).toEqual([
      'kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket unix:///run/containerd/containerd.sock',
    ]);
  });

  it('removes what Cilium keeps in memory, and leaves the maps of others', async () => {
    const gone = [
      '/run/cilium/state/health',
      '/run/cilium/hubble.sock.pid',
      '/sys/fs/bpf/cilium/devices/host0/links/cil_from_netdev',
      '/sys/fs/bpf/cilium/socketlb/links/cgroup/cil_sock4_connect',
      '/sys/fs/bpf/tc/globals/cilium_lxc',
    ];
    for (const path of gone) host.write(path, 'pinned');
    host.standIn('systemctl', 'exit 0').write('/sys/fs/bpf/tc/globals/of_somebody', 'pinned');
    expect((await host.run(text)).result).toMatchObject({ left: [] });
    for (const path of gone) expect([path, host.read(path)]).toEqual([path, undefined]);
    expect([existsSync(join(host.root, 'run/cilium')), existsSync(join(host.root, 'sys/fs/bpf/cilium'))]).toEqual([
      false,
      false,
    ]);
    expect(host.read('/sys/fs/bpf/tc/globals/of_somebody')).toBe('pinned');
  });

  it('reports that it could not remove what Cilium keeps', async () => {
    host
      .standIn('systemctl', 'exit 0')
      .standIn('rm', 'case "$*" in *bpf/cilium*) exit 1;; esac; exec /bin/rm "$@"')
      .write('/sys/fs/bpf/cilium/devices/host0', 'pinned');
    expect((await host.run(text)).result).toMatchObject({ left: ['there are files in /sys/fs/bpf/cilium'] });
  });

  it('does not touch a host that meanwhile belongs to another cluster', async () => {
    const config = (uid: string): string => JSON.stringify({ uid }, null, 2);
    host
      .standIn('systemctl', 'exit 0')
      .write('/etc/fairlead/agent.json', config('another'))
      .write('/etc/kubernetes/pki/ca.key', 'k');
    expect(await host.run(text)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('belongs to another cluster'),
    });
    expect(host.read('/etc/kubernetes/pki/ca.key')).toBe('k');
    host.write('/etc/fairlead/agent.json', config(UID));
    expect((await host.run(text)).result).toMatchObject({ left: [] });
    expect(host.read('/etc/kubernetes/pki/ca.key')).toBeUndefined();
  });

  it('continues if kubeadm fails, and reports what is left instead of success', async () => {
    host
      .standIn('kubeadm', 'echo no >&2; exit 1')
      .standIn('systemctl', 'exit 0')
      .standIn('rm', 'case "$*" in *etcd*) exit 1;; esac; exec /bin/rm "$@"')
      .write('/etc/kubernetes/kubelet.conf', 'k')
      .write('/var/lib/etcd/member/wal', 'w');
    expect((await host.run(text)).result).toEqual({ changed: true, left: ['there are files in /var/lib/etcd'] });
    expect(host.read('/etc/kubernetes/kubelet.conf')).toBeUndefined();
  });
});
