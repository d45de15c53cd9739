import { newFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseResult } from '../shell/result.js';
import { TestHost } from './host.fixtures.js';
import type { LookResult } from './look.script.js';
import { problemsOfHost } from './look.verdict.js';
import { AGENT_CONFIG, CONTROL_PLANE, NATS_CREDENTIALS } from './steps.fixtures.js';
import { renderStep } from './steps.js';

let host: TestHost;

beforeEach(() => {
  host = new TestHost();
});

afterEach(() => host.remove());

describe('prepare', () => {
  const program = '// the agent\n';
  const sha256 = createHash('sha256').update(program).digest('hex');
  const text = (interval = 10_000, restart = false): string =>
    renderStep('prepare', {
      agent: { sha256, version: '0.1.0' },
      config: { ...AGENT_CONFIG, heartbeatIntervalMs: interval },
      credentials: NATS_CREDENTIALS,
      nodeBinary: process.execPath,
      ownNode: null,
      bundle: null,
      restart,
    }).script;
  const restarts = (): number => host.calls('systemctl').filter((call) => call.includes('restart')).length;

  /** An agent that reaches NATS when it is started. */
  const connects =
    'if [ "$1" = restart ]; then mkdir -p "$root/var/lib/fairlead"; : >"$root/var/lib/fairlead/agent.connected"; fi';

  beforeEach(() => {
    host.standIn('systemctl', connects);
  });

  const bring = (content = program): TestHost => host.write('/opt/fairlead/agent.next.mjs', content);

  it('requests the bundle if it is missing or differs [CB-Ladybug 13]', async () => {
    expect((await host.run(text())).result).toEqual({ agent: 'missing', node: 'present', bundle: 'present' });
    bring('half a bundle');
    expect((await host.run(text())).result).toEqual({ agent: 'missing', node: 'present', bundle: 'present' });
    expect(restarts()).toBe(0);
  });

  it('does not replace the agent of another node, and reports that node', async () => {
    bring();
    const other = { ...AGENT_CONFIG, node: 'other-w-1-bbbbb' };
    host.write('/etc/fairlead/agent.json', JSON.stringify(other, null, 2));
    const { code, stderr } = await host.run(text());
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^this host has the agent of another node, other-w-1-bbbbb of the cluster .*: one machine is one node/,
    );
    expect(restarts()).toBe(0);
    expect(JSON.parse(host.read('/etc/fairlead/agent.json') ?? '')).toEqual(other);
  });

  it('starts the agent with its configuration and credentials, readable only by root [CB-Ladybug 13]', async () => {
    bring();
    expect((await host.run(text())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
    expect(JSON.parse(host.read('/etc/fairlead/agent.json') ?? '')).toEqual(AGENT_CONFIG);
    expect(host.read('/etc/fairlead/nats.creds')).toBe(NATS_CREDENTIALS);
    const mode = spawnSync('stat', ['-c', '%a', join(host.root, 'etc/fairlead/nats.creds')], { encoding: 'utf8' });
    expect(mode.stdout.trim()).toBe('600');
  });

  it('does not touch a running agent, and restarts it for a new configuration', async () => {
    bring();
    await host.run(text());
    await host.run(text());
    expect(restarts()).toBe(1);
    await host.run(text(5_000));
    expect(restarts()).toBe(2);
  });

  it('restarts a running agent for new credentials if requested', async () => {
    bring();
    await host.run(text());
    expect((await host.run(text(AGENT_CONFIG.heartbeatIntervalMs, true))).result).toMatchObject({ agent: 'started' });
    expect(restarts()).toBe(2);
    await host.run(text());
    expect(restarts()).toBe(2);
  });

  it("fails within a minute with the agent's error if it does not reach NATS, and starts it again the next time", async () => {
    const words = 'nats://127.0.0.1:4222 cannot be reached from this host: connection refused';
    const deaf = `if (process.argv[2] === '--check') console.log(${JSON.stringify(words)});\n`;
    bring(deaf);
    host.standIn('systemctl', 'exit 0').standIn('sleep', 'exit 0');
    const script = text().replaceAll(sha256, createHash('sha256').update(deaf).digest('hex'));
    const { code, stderr } = await host.run(script);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `the agent has not reached NATS within 30 seconds: ${words}`,
    });
    host.standIn('systemctl', connects);
    expect((await host.run(script)).result).toMatchObject({ agent: 'started' });
    expect(restarts()).toBe(2);
  });

  describe('where another agent runs', () => {
    const guard = (): void => {
      const { root } = host;
      spawnSync('/bin/sh', [join(root, 'opt/fairlead/agent-guard')], { env: { ...process.env, FAIRLEAD_ROOT: root } });
    };

    beforeEach(async () => {
      bring();
      await host.run(text());
      bring('// newer\n');
    });
    const newer = (): string => text().replaceAll(sha256, createHash('sha256').update('// newer\n').digest('hex'));

    it('keeps the new one once it reports success', async () => {
      host.standIn('systemctl', `${connects}; rm -f "$root/var/lib/fairlead/agent.trial"`);
      expect((await host.run(newer())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
      expect(host.read('/opt/fairlead/agent.mjs')).toBe('// newer\n');
    });

    it('restores the previous one and its configuration if the new one is restarted repeatedly', async () => {
      const before = host.read('/etc/fairlead/agent.json');
      const startTwice = 'sh "$root/opt/fairlead/agent-guard"; sh "$root/opt/fairlead/agent-guard"';
      host.standIn('systemctl', `if [ "$1" = restart ]; then ${startTwice}; ${startTwice}; fi`);
      const { code, stderr } = await host.run(
        newer().replace('"heartbeatIntervalMs": 10000', '"heartbeatIntervalMs": 7'),
      );
      expect([code, stderr]).toEqual([1, 'the new agent did not come up, and the one before was put back']);
      expect(host.read('/opt/fairlead/agent.mjs')).toBe(program);
      expect(host.read('/etc/fairlead/agent.json')).toBe(before);
      guard();
      expect(host.read('/opt/fairlead/agent.mjs')).toBe(program);
    });
  });

  it('unpacks a bundle once, atomically', async () => {
    const source = newFolder('bundle');
    writeFileSync(join(source, 'catalogue.json'), '{}');
    const archive = spawnSync('tar', ['-C', source, '-czf', '-', 'catalogue.json']).stdout;
    rmSync(source, { recursive: true });
    const digest = createHash('sha256').update(archive).digest('hex');
    const withBundle = renderStep('prepare', {
      agent: { sha256, version: '0.1.0' },
      config: AGENT_CONFIG,
      credentials: null,
      nodeBinary: process.execPath,
      ownNode: null,
      bundle: { sha256: digest },
    }).script;
    bring();
    expect((await host.run(withBundle)).result).toEqual({ agent: 'missing', node: 'present', bundle: 'missing' });
    writeFileSync(join(host.root, 'var/lib/fairlead/bundle.tar.gz'), archive.subarray(0, 20));
    expect((await host.run(withBundle)).result).toMatchObject({ bundle: 'missing' });
    writeFileSync(join(host.root, 'var/lib/fairlead/bundle.tar.gz'), archive);
    expect((await host.run(withBundle)).result).toMatchObject({ agent: 'started', bundle: 'present' });
    expect(host.read('/var/lib/fairlead/mirror/catalogue.json')).toBe('{}');
    expect(existsSync(join(host.root, 'var/lib/fairlead/bundle.tar.gz'))).toBe(false);
    expect((await host.run(withBundle)).result).toMatchObject({ agent: 'started', bundle: 'present' });
  });

  describe('on a host without Node', () => {
    const archive = gzipSync('#!/bin/sh\necho v20.20.2\n');
    const own = {
      sha256: createHash('sha256').update('#!/bin/sh\necho v20.20.2\n').digest('hex'),
      machine: spawnSync('uname', ['-m'], { encoding: 'utf8' }).stdout.trim(),
      version: 'v20.20.2',
    };
    const without = (over: Partial<typeof own> = {}): string =>
      renderStep('prepare', {
        agent: { sha256, version: '0.1.0' },
        config: AGENT_CONFIG,
        credentials: null,
        nodeBinary: '/bin/sh',
        ownNode: { ...own, ...over },
        bundle: null,
      }).script;
    const deliver = (content: Buffer): void => writeFileSync(join(host.root, 'opt/fairlead/node.gz'), content);

    it("requests Fairlead's runtime, unpacks it, and starts the agent with it", async () => {
      bring();
      expect((await host.run(without())).result).toEqual({ agent: 'missing', node: 'missing', bundle: 'present' });
      deliver(archive);
      expect((await host.run(without())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
      expect(existsSync(join(host.root, 'opt/fairlead/node.gz'))).toBe(false);
      expect((await host.run(without())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
    });

    it('reports a runtime for another machine', async () => {
      const { stderr } = await host.run(without({ machine: 'aarch64' }));
      expect(stderr).toContain('is for aarch64, not for');
    });

    it('reports a runtime that does not run there', async () => {
      const broken = '#!/nonexistent/ld-musl\n';
      bring();
      await host.run(without());
      deliver(gzipSync(broken));
      const sha256OfBroken = createHash('sha256').update(broken).digest('hex');
      const { stderr } = await host.run(without({ sha256: sha256OfBroken }));
      expect(stderr).toContain('does not run on this host (another C library?)');
    });
  });
});

describe('verify', () => {
  const text = renderStep('verify', {
    controlPlane: true,
    address: CONTROL_PLANE.address,
    kubernetesVersion: 'v1.34.4',
    failSwapOn: true,
  }).script;

  it.each([
    'v1.34.4$(touch "$root/executed")',
    'v1.34.4`touch "$root/executed"`',
    `v1.34.4'; touch "$root/executed"; '`,
  ])('executes nothing from a version: %s', async (kubernetesVersion) => {
    const input = { controlPlane: true, address: CONTROL_PLANE.address, kubernetesVersion, failSwapOn: true };
    expect((await host.run(renderStep('verify', input).script)).code).toBe(0);
    expect(host.read('/executed')).toBeUndefined();
  });

  it("finds no problem on a host that meets kubeadm's requirements", async () => {
    host
      .standIn('kubeadm', 'echo v1.34.4')
      .standIn('kubelet', 'echo "Kubernetes v1.34.4"')
      .standIn('systemctl', 'exit 0');
    expect((await host.run(text)).result).toEqual({ problems: [] });
  });

  it('reports all problems at once [ORBITER 6]', async () => {
    host
      .standIn('kubeadm', 'echo v1.33.13')
      .standIn('kubelet', 'exit 127')
      .standIn('systemctl', 'exit 3')
      .standIn('ss', 'echo "LISTEN 0 128 0.0.0.0:6443 0.0.0.0:*"; echo "LISTEN 0 128 10.1.1.1:10250 0.0.0.0:*"')
      .write('/proc/swaps', 'Filename Type\n/swapfile file\n')
      .write('/proc/sys/net/ipv4/ip_forward', '0\n');
    expect((await host.run(text)).result).toEqual({
      problems: [
        'kubeadm is v1.33.13, not v1.34.4',
        'kubelet is missing, not v1.34.4',
        'the container runtime does not listen at /run/containerd/containerd.sock',
        'swap is on',
        'net.ipv4.ip_forward is not 1',
        'port 6443 is in use',
      ],
    });
  });
});

describe('the inspection of a host', () => {
  const text = renderStep('look', {}).script;
  const look = async (): Promise<LookResult> => {
    const { result } = await host.run(text);
    return DEFINED.parse(result);
  };
  const DEFINED = renderStep('look', {}).result;
  const problems = async (address: string | null = null): Promise<readonly string[]> =>
    problemsOfHost((await look()).facts, { address, lookedAt: null });

  beforeEach(() => {
    host.standIn('systemctl', '[ "$1" != is-active ]').standIn('id', 'echo 0');
  });

  it('reports its size, and no problem of a free host', async () => {
    const found = await look();
    expect(found.memoryMiB).toBeGreaterThan(100);
    expect(found.facts.clock).toBeGreaterThan(1_700_000_000);
    expect(await problems()).toEqual([]);
  });

  it.each([
    ['etc/kubernetes/kubelet.conf', /^it is a Kubernetes node already \(\/etc\/kubernetes\/kubelet.conf exists\)$/],
    ['etc/kubernetes/manifests/kube-apiserver.yaml', /^\/etc\/kubernetes\/manifests\/kube-apiserver.yaml is left/],
    ['etc/cni/net.d/10-calico.conflist', /10-calico.conflist is left of another cluster/],
    ['var/lib/kubelet/pki/kubelet.crt', /^\/var\/lib\/kubelet\/pki\/kubelet.crt is left/],
    ['var/lib/rancher/k3s/server/token', /^\/var\/lib\/rancher\/k3s is left/],
    ['sys/class/net/flannel.1', /^the interface flannel.1 is left/],
  ])('finds remains of another cluster: %s', async (path, words) => {
    host.write(`/${path}`, 'x');
    expect(await problems()).toEqual([expect.stringMatching(words)]);
  });

  it('takes networks of podman and CRI-O for what they are', async () => {
    host.write('/etc/cni/net.d/87-podman-bridge.conflist', '{}');
    expect(await problems()).toEqual([
      '/etc/cni/net.d/87-podman-bridge.conflist is a network of podman, which the first pods would get: move it out of /etc/cni/net.d',
    ]);
    host.write('/etc/cni/net.d/10-flannel.conflist', '{}');
    expect(await problems()).toContainEqual(expect.stringMatching(/10-flannel.conflist is left of another cluster/));
  });

  it.each([
    ['v1, alone', 'tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n', 'v1'],
    ['v1 beside v2', 'tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n', 'v1'],
    ['v2', 'cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n', 'v2'],
    ['none', 'proc /proc proc rw 0 0\n', ''],
  ])('finds the hierarchy of cgroups that a kubelet would find: %s', async (_hierarchy, mounts, cgroup) => {
    host.write('/proc/self/mounts', mounts);
    expect((await look()).facts.cgroup).toBe(cgroup);
  });

  it('names the node of an existing agent', async () => {
    host.write('/etc/fairlead/agent.json', JSON.stringify(AGENT_CONFIG, null, 2));
    expect(await problems()).toEqual([`it has an agent of another cluster (node ${AGENT_CONFIG.node})`]);
  });

  it('finds a running kubelet, and ports in use', async () => {
    host
      .standIn('systemctl', '[ "$*" = "is-active --quiet k3s-agent.service" ]')
      .write(
        '/proc/net/tcp',
        '  sl  local\n   0: 00000000:192B 00000000:0000 0A 0\n   1: 0100007F:280A 0100007F:0001 01 0\n',
      )
      .write('/proc/net/tcp6', '  sl  local\n   0: 00000000000000000000000000000000:280A 0:0000 0A 0\n');
    expect(await problems()).toEqual([
      'k3s-agent of another cluster runs: stop and remove it',
      'something listens on port 6443, port 10250, which a node needs: ss -tlnp names it',
    ]);
  });

  it('compares the address in the inventory with those of its interfaces, in both families', async () => {
    const trie = '  |-- 10.77.0.2\n        /32 host LOCAL\n  |-- 10.77.0.255\n        /32 link BROADCAST\n';
    host
      .write('/proc/net/fib_trie', `Local:\n  +-- 0.0.0.0/0 3 0 5\n${trie}`)
      .write('/proc/net/if_inet6', 'fd00000000000000000000000000000a 02 40 00 80     eth0\n');
    expect(await problems('10.77.0.2')).toEqual([]);
    expect(await problems('fd00::a')).toEqual([]);
    expect(await problems('198.51.100.33')).toEqual([
      'it has no interface with the address 198.51.100.33 (it has 10.77.0.2, fd00:0000:0000:0000:0000:0000:0000:000a): give the one that it has as its privateAddress',
    ]);
  });

  it('finds folders without execute permission, and file systems that are read-only or full', async () => {
    host
      .standIn(
        'df',
        'echo "Filesystem 1024-blocks Used Available Capacity Mounted on"; echo "/dev/x 100 90 100000 90% /x"',
      )
      .write('/proc/self/mounts', '/dev/x /x ext4 ro,noexec 0 0\n');
    expect(await problems()).toEqual(
      expect.arrayContaining([
        '/var/lib is on a file system that is read-only: mount it with rw',
        '/opt is mounted noexec, and programs of a node run there: mount it with exec',
        '/var/lib is 90 % full: above 85 % its kubelet evicts pods',
        '/opt has 97 MiB free, and a node needs 300 MiB',
      ]),
    );
  });

  it('probes only given addresses, and reports which of them answer', async () => {
    host
      .standIn('ping', 'for last; do :; done; [ "$last" = 198.51.100.9 ]')
      .standIn('ip', 'exit 0')
      .standIn('ping6', 'exit 1');
    expect((await look()).facts.answering).toEqual([]);
    expect(host.calls('ping')).toEqual([]);
    const probe = ['198.51.100.9', '198.51.100.10'];
    const { result } = await host.run(renderStep('look', { probe }).script);
    expect(DEFINED.parse(result).facts.answering).toEqual(['198.51.100.9']);
  });

  it('finds the result below other output of a login', () => {
    const noise = 'Welcome to Ubuntu\n{"problems":[]}\nFAIRLEAD-RESULT is a word\n';
    expect(parseResult(`${noise}FAIRLEAD-RESULT {"cpus":2}\n`)).toEqual({ cpus: 2 });
  });
});

describe('the authorized keys of a host', () => {
  const KEYS = '/home/ops/.ssh/authorized_keys';
  const user = 'ops';
  const key = (letter: string): string => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${letter.repeat(43)} fairlead@lab`;
  const change = (add: string | null, remove: readonly string[] = []) =>
    host.run(renderStep('authorized-keys', { user, add, remove }).script);

  beforeEach(() => {
    host.standIn('getent', 'echo "$2:x:1000:1000::/home/$2:/bin/sh"').standIn('chown', '');
  });

  it('gain and lose one, and all other lines are unchanged, even without a line end and with options', async () => {
    const others = `# mine\nfrom="192.0.2.0/24" ${key('x')}\n${key('o')}`;
    host.write(KEYS, others);
    expect(await change(key('n'))).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(KEYS)).toBe(`${others}\n${key('n')}\n`);
    expect(await change(null, [key('o')])).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(KEYS)).toBe(`# mine\nfrom="192.0.2.0/24" ${key('x')}\n${key('n')}\n`);
  });

  it('are not changed by a repeated step', async () => {
    host.write(KEYS, `${key('o')}\n`);
    await change(key('n'), [key('o')]);
    expect(await change(key('n'), [key('o')])).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.read(KEYS)).toBe(`${key('n')}\n`);
  });

  it('are created for a user without any; an unknown user is a failure', async () => {
    expect(await change(key('n'))).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(KEYS)).toBe(`${key('n')}\n`);
    host.standIn('getent', 'exit 2');
    expect(await change(key('n'))).toMatchObject({ code: 1, stderr: 'there is no user ops' });
  });

  it("lose a key whatever its line's options and comment, and accept only public keys", async () => {
    host.write(KEYS, `no-pty ${key('o')} more words\n`);
    await change(null, [key('o')]);
    expect(host.read(KEYS)).toBe('');
    expect(() => renderStep('authorized-keys', { user, add: 'ssh-rsa x"\n$(id)', remove: [] })).toThrow('public key');
  });
});
