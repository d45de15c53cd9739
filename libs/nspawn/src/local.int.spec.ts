import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { cacheFolder } from '@fairlead/mirror';
import type { HostBaseline } from '@fairlead/contracts';
import { parseResult, renderStep, type RenderedStep, type StepName, type StepResults } from '@fairlead/node-scripts';
import { isAlive, waitUntil, type ProcessIdentity } from '@fairlead/embedded/process';
import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askHaproxy } from './balancers/haproxy.admin.js';
import { haproxyConfig } from './balancers/haproxy.config.js';
import { serversIn } from './balancers/haproxy.state.rules.js';
import { generateHostKey } from './hosts/host.keys.js';
import { openLocal, type Local } from './local.js';
import { BRIDGE } from './network/network.js';
import { isInOwnNetwork, runInOwnNetwork, whyNoHosts } from './testing.js';

const RUN_MS = 600_000;
const TEST_MS = 120_000;
const NETWORK = 'spec';
// From the kernel's capability.h.
const CAPABILITIES_WITHHELD = {
  sys_module: 16n,
  sys_rawio: 17n,
  sys_pacct: 20n,
  sys_time: 25n,
  mac_override: 32n,
  mac_admin: 33n,
  wake_alarm: 35n,
  block_suspend: 36n,
  audit_read: 37n,
  checkpoint_restore: 40n,
};

const hostsStory = (): void => {
  jest.setTimeout(TEST_MS);
  const stateDir = newFolder('hosts');
  const mirror = join(stateDir, 'mirror.txt');
  const places = { stateDir, cacheDir: cacheFolder(process.env) };
  const client = generateHostKey('spec');
  let local: Local;

  /** As after a restart of the process: only the state on disk is known. */
  const reopened = (): Local => openLocal(places);
  const made = async (name: string): Promise<void> => {
    await local.hosts.ensure({
      name,
      network: NETWORK,
      authorizedKeys: [client.publicKeyLine],
      cpus: 1,
      memoryMiB: 1_024,
      readOnly: { '/opt/fairlead/mirror.txt': mirror },
      labels: { role: 'spec' },
    });
    await reached(name);
  };
  const reached = (name: string) => local.hosts.untilReachable(name, AbortSignal.timeout(TEST_MS));
  const inside = async (name: string, script: string): Promise<string> => {
    const { code, stdout, stderr } = await local.hosts.execute(name, ['sh', '-c', script]);
    if (code !== 0) throw new Error(`${script}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const addressOf = (name: string): string => local.hosts.find(name)?.address ?? '';
  const ssh = (user: string, name: string, knownHosts: string, ...words: readonly string[]) =>
    spawnSync(
      'ssh',
      [
        ...['-i', join(stateDir, 'key'), '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=5', '-F', 'none'],
        ...['-o', `UserKnownHostsFile=${knownHosts}`, '-o', 'StrictHostKeyChecking=yes'],
        `${user}@${addressOf(name)}`,
        ...words,
      ],
      { encoding: 'utf8', timeout: 30_000 },
    );
  const pings = async (from: string, to: string): Promise<boolean> =>
    (await local.hosts.execute(from, ['ping', '-c', '1', '-W', '1', addressOf(to)])).code === 0;

  beforeAll(async () => {
    writeFileSync(mirror, 'Kubernetes\n');
    writeFileSync(join(stateDir, 'key'), client.privateKeyFile, { mode: 0o600 });
    local = openLocal(places);
    await local.networks.ensure(NETWORK, '198.18.66.0/24');
    await Promise.all(['one', 'two'].map(made));
  }, TEST_MS);

  afterAll(async () => {
    await local.clear();
    removeFolder(stateDir);
  }, TEST_MS);

  it('accept SSH with the known host key, as root and as a user with sudo', async () => {
    const scan = spawnSync('ssh-keyscan', ['-t', 'ed25519', addressOf('one')], { encoding: 'utf8' });
    const known = join(stateDir, 'known_hosts');
    writeFileSync(known, scan.stdout);
    const print = spawnSync('ssh-keygen', ['-l', '-f', known], { encoding: 'utf8' }).stdout;
    expect(print).toContain(local.hosts.find('one')?.hostKey);
    expect(ssh('root', 'one', known, 'hostname').stdout.trim()).toBe('one');
    expect(ssh('ops', 'one', known, 'sudo', '-n', 'id', '-u').stdout.trim()).toBe('0');
  });

  it('are whole machines: systemd runs, containerd answers, Node and the mirror are available', async () => {
    await inside('one', 'systemctl is-system-running --wait');
    expect(await inside('one', 'ctr version')).toContain('Server');
    expect(await inside('one', '/opt/fairlead/node --version')).toBe(process.version);
    expect(await inside('one', 'cat /opt/fairlead/mirror.txt')).toBe('Kubernetes');
    await expect(inside('one', 'touch /opt/fairlead/mirror.txt')).rejects.toThrow('Read-only');
  });

  it('cannot change the machine that they run on', async () => {
    const before = readFileSync('/proc/sys/vm/overcommit_memory', 'utf8');
    await inside('one', 'sysctl -w vm.overcommit_memory=1 kernel.panic=10 vm.panic_on_oom=1');
    expect(readFileSync('/proc/sys/vm/overcommit_memory', 'utf8')).toBe(before);
    expect((await local.hosts.execute('one', ['sysctl', '-w', 'kernel.hostname=x', 'fs.file-max=1'])).code).not.toBe(0);
    // Inspected, not tried: a failure would set the machine's clock.
    for (const process of ['1', 'self']) {
      const bounds = BigInt(`0x${await inside('one', `sed -n 's/^CapBnd:[[:space:]]*//p' /proc/${process}/status`)}`);
      const held = Object.entries(CAPABILITIES_WITHHELD).filter(([, right]) => ((bounds >> right) & 1n) === 1n);
      expect([process, held]).toEqual([process, []]);
    }
    expect(await inside('one', 'wc -l </proc/swaps')).toBe('1');
  });

  it('reach each other and Fairlead, and nothing else; a lookup of an external name is refused at once', async () => {
    expect(await pings('one', 'two')).toBe(true);
    const { uplink } = local.networks.find(NETWORK)!;
    await inside('one', `ping -c 1 -W 1 ${uplink}`);
    expect((await local.hosts.execute('one', ['ping', '-c', '1', '-W', '1', '192.0.2.1'])).code).not.toBe(0);
    const startedAt = performance.now();
    await local.hosts.execute('one', ['getent', 'hosts', 'kubernetes.io']);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it('see Fairlead and the load balancers at constant hardware addresses, whichever hosts come and go', () => {
    const { namespace } = local.networks.find(NETWORK)!;
    const ip = (...words: readonly string[]): string =>
      spawnSync('ip', ['-n', namespace, ...words], { encoding: 'utf8' }).stdout;
    const bridgeAddress = (): string => /link\/ether (\S+)/.exec(ip('link', 'show', BRIDGE))?.[1] ?? '';
    const before = bridgeAddress();
    // Of its ports' addresses, a bridge would take the lowest one.
    ip('link', 'add', 'lowest', 'address', '02:00:00:00:00:00', 'type', 'veth', 'peer', 'name', 'peer');
    ip('link', 'set', 'lowest', 'master', BRIDGE);
    const during = bridgeAddress();
    ip('link', 'delete', 'lowest');
    expect([before, during, bridgeAddress()]).toEqual([expect.stringMatching(/^02:/), before, before]);
  });

  it('are created once: a second request changes nothing', async () => {
    const before = local.hosts.find('one');
    await made('one');
    expect(local.hosts.find('one')).toEqual(before);
  });

  it('come back after a reboot with their data, even without a running Fairlead', async () => {
    await inside(
      'one',
      'echo kept >/var/lib/etcd/kept; echo kept >/root/kept; (sleep 0.2; systemctl reboot) >/dev/null 2>&1 &',
    );
    await waitUntil(() => (local.hosts.find('one')?.boots ?? 0) > 1, { timeoutMs: TEST_MS, everyMs: 50 });
    await reached('one');
    expect(local.hosts.find('one')).toMatchObject({ status: 'running', boots: 2 });
    expect(await inside('one', 'cat /var/lib/etcd/kept /root/kept')).toBe('kept\nkept');
  });

  it('lose power without notice, and stay off until they are started', async () => {
    await inside('two', 'echo kept >/root/kept && sync');
    await local.hosts.powerCut('two');
    expect(local.hosts.find('two')?.status).toBe('stopped');
    expect(await pings('one', 'two')).toBe(false);
    await reopened().resume();
    expect(local.hosts.find('two')?.status).toBe('stopped');
    await local.hosts.start('two');
    await reached('two');
    expect(await inside('two', 'cat /root/kept')).toBe('kept');
    expect(await pings('one', 'two')).toBe(true);
  });

  it('are powered on while something of an earlier keeper still holds its lock', async () => {
    await local.hosts.powerCut('two');
    const holder = spawn('flock', [join(stateDir, 'hosts', 'two', 'lock'), 'sleep', '1']);
    const released = new Promise((resolve) => holder.once('close', resolve));
    await sleep(200);
    await local.hosts.start('two');
    await reached('two');
    await released;
  });

  it('are partitioned and reconnected, and a reboot does not reconnect them', async () => {
    await local.hosts.partition('two');
    expect(await pings('one', 'two')).toBe(false);
    await local.hosts.stop('two');
    await local.hosts.start('two');
    const serves = (): Promise<boolean> =>
      local.hosts.execute('two', ['systemctl', 'is-active', 'ssh']).then(
        ({ code }) => code === 0,
        () => false,
      );
    expect(await waitUntil(serves, { timeoutMs: TEST_MS, everyMs: 100 })).toBe(true);
    expect(await pings('one', 'two')).toBe(false);
    await local.hosts.heal('two');
    expect(await waitUntil(() => pings('one', 'two'), { timeoutMs: TEST_MS, everyMs: 50 })).toBe(true);
  });

  it('are found by another process, which can manage them fully', async () => {
    const other = reopened();
    expect(other.hosts.all()).toEqual(local.hosts.all());
    await other.hosts.stop('two');
    expect(local.hosts.find('two')?.status).toBe('stopped');
    await other.hosts.start('two');
    await reached('two');
  });

  it('with a killed keeper are ended and booted again, once, by resume', async () => {
    const keeper = JSON.parse(readFileSync(join(stateDir, 'hosts', 'two', 'keeper.pid'), 'utf8')) as ProcessIdentity;
    process.kill(keeper.pid, 'SIGKILL');
    expect(await waitUntil(() => !isAlive(keeper), { timeoutMs: 5_000, everyMs: 10 })).toBe(true);
    expect(local.hosts.find('two')?.status).toBe('stopped');
    const { boots } = local.hosts.find('two')!;
    await reopened().resume();
    await reached('two');
    expect(local.hosts.find('two')).toMatchObject({ status: 'running', boots: boots + 1 });
    const firsts = (await local.leftovers()).filter(({ what }) => /systemd\/systemd$|\/init$/.test(what));
    expect(firsts).toHaveLength(2); // One per host.
    expect(await pings('one', 'two')).toBe(true);
  });

  it('are suspended together and leave only files; everything is resumed', async () => {
    await local.suspend();
    const left = (await local.leftovers()).filter(({ kind }) => kind !== 'file');
    expect(left).toEqual([]);
    await reopened().resume();
    await Promise.all(['one', 'two'].map(reached));
  });

  it('have an effective memory limit', async () => {
    // A service of the host is in its group; a process entered by nsenter is not.
    const unit = await local.hosts.execute('one', [
      ...['systemd-run', '--pipe', '--wait', '--quiet', '/opt/fairlead/node', '-e'],
      'const kept = []; for (let at = 0; at < 40; at += 1) kept.push(Buffer.alloc(64 << 20, 1)); console.log("all")',
    ]);
    expect(unit.stdout).not.toContain('all');
  });

  describe('a load balancer', () => {
    const answersAt = (address: string): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect({ host: address, port: 6443 });
        socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
        socket.once('close', () => resolve(false));
        setTimeout(() => socket.destroy(), 500).unref();
      });
    const desired = { name: 'default.demo', network: NETWORK, port: 6443, healthPath: '/readyz' };

    it('sends connections only to its current targets, however often these change', async () => {
      const ask = 'show servers state control-planes';
      const folder = join(stateDir, 'balancers', 'default.demo');
      for (const names of [['one'], ['one', 'two'], ['two'], []]) {
        const targets = names.map((name) => ({ name, address: addressOf(name), port: 6443 }));
        await local.balancers.ensure({ ...desired, targets });
        const servers = serversIn((await askHaproxy(folder, 'admin.sock', ask)) ?? '');
        expect(servers).toEqual(names.map((name) => `${name} ${addressOf(name)}:6443`));
      }
    });

    it('applies an interrupted change that haproxy had not seen', async () => {
      const [one, two] = ['one', 'two'].map((name) => ({ name, address: addressOf(name), port: 6443 }));
      const { address, port } = await local.balancers.ensure({ ...desired, targets: [one!] });
      const folder = join(stateDir, 'balancers', 'default.demo');
      const changed = haproxyConfig({ ...desired, address, port, targets: [two!] });
      writeFileSync(join(folder, 'haproxy.cfg'), changed);
      await reopened().balancers.ensure({ ...desired, targets: [two!] });
      const answer = (await askHaproxy(folder, 'admin.sock', 'show servers state control-planes')) ?? '';
      expect(serversIn(answer)).toEqual([`two ${addressOf('two')}:6443`]);
    });

    it('has an address at once, keeps it, and recovers when its haproxy dies', async () => {
      const { address } = await local.balancers.ensure({ ...desired, targets: [] });
      expect(await answersAt(address)).toBe(true);
      const targets = [{ name: 'one', address: addressOf('one'), port: 6443 }];
      expect((await reopened().balancers.ensure({ ...desired, targets })).address).toBe(address);
      const haproxy = spawnSync('pgrep', ['-f', join(stateDir, 'balancers', 'default.demo', 'haproxy.cfg')], {
        encoding: 'utf8',
      });
      for (const pid of haproxy.stdout.split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
      expect(await waitUntil(() => answersAt(address), { timeoutMs: 10_000, everyMs: 50 })).toBe(true);
      await local.balancers.delete('default.demo');
      expect(await answersAt(address)).toBe(false);
    });
  });

  describe('are wiped like inventory hosts', () => {
    const IMAGE = 'example.org/secret:1';
    const step = async <Name extends StepName>(rendered: RenderedStep<Name>): Promise<StepResults[Name]> => {
      const script = `/var/lib/fairlead/steps/${rendered.step}-spec.sh`;
      const text = Buffer.from(rendered.script).toString('base64');
      const run = `mkdir -p /var/lib/fairlead/steps; echo ${text} | base64 -d >${script}; sh ${script}`;
      return rendered.result.parse(parseResult(await inside('one', run)));
    };
    const wiped = (baseline: HostBaseline) =>
      step(renderStep('kubeadm-reset', { removeAgent: true, of: 'spec', wipe: { baseline, keepRuntime: true } }));

    it("of images, the runtime's state and a cluster's remains; containerd runs again", async () => {
      const { baseline } = await step(renderStep('look', {}));
      await inside(
        'one',
        `cd "$(mktemp -d)" && mkdir -p rootfs && tar -C rootfs -cf layer.tar . && layer=$(sha256sum layer.tar | cut -c 1-64)
        printf '{"architecture":"%s","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"config":{}}' "$(dpkg --print-architecture)" "$layer" >config.json
        printf '[{"Config":"config.json","RepoTags":["${IMAGE}"],"Layers":["layer.tar"]}]' >manifest.json
        tar -cf image.tar manifest.json config.json layer.tar && ctr -n k8s.io images import image.tar`,
      );
      expect(await inside('one', 'ctr -n k8s.io images ls -q')).toContain(IMAGE);
      const left = ['/etc/kubernetes/pki/ca.key', '/var/log/pods/a/0.log', '/root/.kube/config', '/usr/bin/kubelet'];
      for (const path of [...left, '/var/lib/fairlead/steps/kubeadm-join-cut.json'])
        await inside('one', `mkdir -p "$(dirname ${path})"; echo left >${path}`);
      expect((await wiped(baseline)).left).toEqual([]);
      expect(await inside('one', 'ctr -n k8s.io images ls -q; systemctl is-active containerd')).toBe('active');
      for (const path of left) await expect(inside('one', `ls ${path}`)).rejects.toThrow('No such file');
      expect(await inside('one', 'ls /var/lib/fairlead/steps')).toBe('');
      expect((await step(renderStep('look', {}))).baseline).toEqual(baseline);
    });

    it('and a backdoor is found', async () => {
      const { baseline } = await step(renderStep('look', {}));
      const file = '/etc/systemd/system/back.service';
      await inside('one', `echo '[Service]' >${file}; echo 'back:x:0:0::/root:/bin/sh' >>/etc/passwd`);
      expect((await wiped(baseline)).left).toEqual([
        'the accounts that may log in, or sudoers and PAM are not as when the host was taken',
        'the units of systemd are not as when the host was taken',
      ]);
      await inside('one', `rm ${file}; sed -i '/^back:/d' /etc/passwd`);
      expect((await wiped(baseline)).left).toEqual([]);
    });
  });

  it('leave nothing after deletion: no process, mount, device, namespace, group or file', async () => {
    const hosts = local.hosts.all().map(({ name }) => name);
    expect((await local.leftovers()).map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['process', 'device', 'namespace', 'group', 'file']),
    );
    await reopened().clear();
    expect(await local.leftovers({ networks: [NETWORK], hosts })).toEqual([]);
    expect(existsSync(join(stateDir, 'hosts', 'one'))).toBe(false);
  });
};

if (isInOwnNetwork()) {
  describe('local hosts', hostsStory);
} else {
  const why = await whyNoHosts();
  const holds = why === undefined ? it : it.skip;
  holds(
    'local hosts are what they promise to be, in a network of their own',
    () => runInOwnNetwork(import.meta.url),
    RUN_MS,
  );
}
