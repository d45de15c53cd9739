import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { cp, readdir, readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { PREPARE_HOST, TestLab, first, groupRequest, must, type TestGroup } from './testing/test.lab.js';

const ROOT = new URL('../../../', import.meta.url);

/** What follows `--` in the examples of `fairlead node exec`. */
const commandsOfDocs = async (): Promise<readonly string[]> => {
  const names = (await readdir(new URL('docs/', ROOT))).filter((name) => name.endsWith('.md'));
  const pages = await Promise.all(
    ['README.md', ...names.map((name) => `docs/${name}`)].map((name) => readFile(new URL(name, ROOT), 'utf8')),
  );
  const found = pages.join('\n').matchAll(/fairlead node exec [^\n`]*? -- ([^\n`]+)/g);
  return [...new Set([...found].map(([, command = '']) => command.replace(/ +#.*/, '').trim()))];
};

// Runs real shells and processes, on a machine that may be busy with other tests.
describe('the cloud of a lab', () => {
  let lab: TestLab | undefined;

  afterEach(async () => {
    await lab?.stop();
    lab = undefined;
  });

  const started = async (...options: Parameters<typeof TestLab.start>): Promise<TestLab> => {
    lab = await TestLab.start(...options);
    return lab;
  };

  it('refuses requests without its token', async () => {
    const cloud = await started();
    expect(await cloud.call('GET', 'specs', undefined, 'another token')).toMatchObject({ status: 401 });
    expect(await cloud.call('GET', 'specs')).toMatchObject({ status: 200 });
  });

  it('reports an invalid request with a stable code', async () => {
    const cloud = await started();
    expect(await cloud.call('PUT', 'groups/g', { cluster: 'g' })).toMatchObject({
      status: 400,
      body: { code: 'malformed' },
    });
    expect(await cloud.call('GET', 'regions/mars')).toMatchObject({ status: 404 });
    expect(await cloud.call('POST', 'specs')).toMatchObject({ status: 405 });
    const unknown = JSON.parse(
      JSON.stringify(groupRequest('g', ['m'], 'u')).replace('lab.medium', 'lab.huge'),
    ) as unknown;
    expect(await cloud.call('PUT', 'groups/g', unknown)).toMatchObject({ status: 422, body: { code: 'spec-unknown' } });
  });

  it('creates each named machine once, however often it is requested [Cluster API 33]', async () => {
    const cloud = await started();
    await Promise.all([1, 2, 3].map(() => cloud.call('PUT', 'groups/g', groupRequest('g', ['a', 'b'], 'u'))));
    const { machines } = await cloud.group('g', ['a', 'b', 'c'], 'u');
    expect(machines.map(({ name, status }) => `${name} ${status}`)).toEqual(['a running', 'b running', 'c running']);
    expect((await cloud.call('GET', 'stats?commands=none')).body).toMatchObject({
      created: { machine: 3, group: 1 },
      names: { 'machine/a': 1, 'machine/b': 1, 'machine/c': 1 },
    });
  });

  it('leaves nothing of a deleted group, and never recreates it', async () => {
    const cloud = await started();
    const machine = await cloud.machine('g');
    expect(await cloud.call('DELETE', 'groups/g')).toMatchObject({ status: 204 });
    expect(await cloud.call('DELETE', 'groups/g')).toMatchObject({ status: 404 });
    expect(await cloud.call('DELETE', `machines/${machine.id}`)).toMatchObject({ status: 404 });
    expect(await reaches(machine.publicIp, machine.sshPort)).toBe(false);
    expect(await cloud.call('PUT', 'groups/g', groupRequest('g', ['g'], 'uid-of-g'))).toMatchObject({
      status: 409,
      body: { code: 'deleted' },
    });
    expect(await cloud.call('PUT', 'groups/g', groupRequest('g', ['g'], 'another'))).toMatchObject({ status: 200 });
  });

  it('wakes a waiting client on the first change, and returns what has changed', async () => {
    const cloud = await started();
    const { rev } = await cloud.group('g', ['a']);
    const waiting = cloud.call<TestGroup>('GET', `groups/g?changedSince=${rev}&waitMs=10000`);
    const asked = (await cloud.call<TestGroup>('PUT', 'groups/g', groupRequest('g', ['b'], 'uid-of-g'))).body;
    const namesOf = ({ machines }: TestGroup): readonly string[] => machines.map(({ name }) => name);
    const changed = (await waiting).body;
    expect([namesOf(asked), namesOf(changed), namesOf(await cloud.group('g', ['b']))]).toEqual([
      ['b'],
      ['b'],
      ['a', 'b'],
    ]);
    expect(changed.rev).toBeGreaterThan(rev);
    const none = await cloud.call<TestGroup>('GET', `groups/g?changedSince=${Date.now() + 60_000}&waitMs=0`);
    expect(namesOf(none.body)).toEqual([]);
  });

  it('fails, delays, loses and refuses machines as faults request [Cluster API 33]', async () => {
    const cloud = await started();
    await cloud.call('PUT', 'faults', {
      items: [
        { kind: 'boot-failure', machine: '*-2', message: 'no disk' },
        { kind: 'ssh-never', machine: '*-3' },
        { kind: 'quota', machine: 'x-*', message: 'only four' },
        { kind: 'host-lost', machine: '*-4' },
      ],
    });
    const { machines } = await cloud.group('g', ['g-1', 'g-2', 'g-3', 'g-4']);
    expect(machines.map(({ status }) => status)).toEqual(['running', 'failed', 'running', 'running']);
    expect(machines[1]?.message).toBe('no disk');
    await expect(cloud.ssh(machines[2] as never, undefined, 300)).rejects.toThrow(/timed out/i);
    await expect(cloud.ssh(machines[3] as never)).rejects.toThrow(/ECONNREFUSED/);
    expect(await cloud.call('PUT', 'groups/x', groupRequest('x', ['x-1'], 'u'))).toMatchObject({
      status: 422,
      body: { code: 'quota', message: 'only four' },
    });
    expect(await cloud.call('GET', 'groups/x')).toMatchObject({ status: 404 });
  });

  it('is slow as faults request, and deletes machines that are still booting [Cluster API 33]', async () => {
    const cloud = await started();
    const took = async (work: () => Promise<unknown>): Promise<number> => {
      const startedAt = performance.now();
      await work();
      return performance.now() - startedAt;
    };
    const slow = (kind: string, delayMs: number): unknown => ({ items: [{ kind, delayMs, times: 1 }] });
    await cloud.call('PUT', 'faults', slow('api-slow', 400));
    expect(await took(() => cloud.call('GET', 'specs'))).toBeGreaterThan(390);
    await cloud.call('PUT', 'faults', slow('boot-slow', 400));
    expect(await took(() => cloud.machine('a'))).toBeGreaterThan(390);
    const machine = await cloud.machine('a');
    await cloud.call('PUT', 'faults', slow('ssh-slow', 400));
    expect(await took(() => cloud.ssh(machine))).toBeGreaterThan(390);
    await cloud.call('PUT', 'faults', slow('boot-slow', 600_000));
    await cloud.call('PUT', 'groups/b', groupRequest('b', ['b'], 'u'));
    expect(await cloud.call('DELETE', 'groups/b')).toMatchObject({ status: 204 });
    expect((await cloud.call('GET', 'stats?commands=none')).body).toMatchObject({ now: { machines: 1, groups: 1 } });
  });

  it('disconnects a partitioned host and resumes it when the partition ends', async () => {
    const cloud = await started();
    const machine = await cloud.machine('m');
    const ssh = await cloud.ssh(machine);
    await must(ssh, 'echo before');
    await cloud.call('POST', `machines/${machine.id}/power`, { action: 'partition' });
    await expect(cloud.ssh(machine, undefined, 300)).rejects.toThrow(/timed out/i);
    await cloud.call('POST', `machines/${machine.id}/power`, { action: 'heal' });
    expect(await must(await cloud.ssh(machine), 'echo after')).toBe('after');
  });

  it('has every command that the docs run on nodes', async () => {
    const commands = await commandsOfDocs();
    expect(commands).toEqual(expect.arrayContaining(['uptime', 'systemctl status kubelet', 'sh -c "df -h; free"']));
    const cloud = await started();
    const ssh = await cloud.ssh(await cloud.machine('m'));
    for (const command of commands) {
      const { stdout, stderr, code } = await ssh.execCommand(command);
      expect([command, code, stderr]).not.toEqual([command, 127, expect.anything()]);
      expect([command, `${stdout}${stderr}`]).not.toEqual([command, expect.stringMatching(/^$|not found|No such/)]);
    }
  });

  it('resumes after a restart: machines, hosts, units, Kubernetes and faults [Cluster API 33]', async () => {
    const cloud = await started();
    const machine = await cloud.machine('m');
    const balancer = { group: 'm', port: 6443, healthPath: '/readyz', targets: [machine.id] };
    const { host } = (await cloud.call<{ host: string }>('PUT', 'load-balancers/m', balancer)).body;
    const before = await cloud.ssh(machine);
    await must(before, `${PREPARE_HOST}; kubeadm init --control-plane-endpoint ${host}:6443`);
    await must(
      before,
      `printf '[Service]\\nExecStart=/usr/bin/node -e setInterval(()=>1,1e3)\\nRestart=always\\n' >$FAIRLEAD_ROOT/etc/systemd/system/work.service`,
    );
    await must(before, 'systemctl enable --now work; sysctl -w vm.swappiness=7');
    const boot = await must(before, 'cat $FAIRLEAD_ROOT/proc/sys/kernel/random/boot_id');
    await cloud.call('PUT', 'faults', { items: [{ kind: 'command-failure', command: 'free', times: 3 }] });

    await cloud.restart();

    const { machines } = (await cloud.call<TestGroup>('GET', 'groups/m')).body;
    expect(first(machines)).toMatchObject({
      id: machine.id,
      publicIp: machine.publicIp,
      hostKey: machine.hostKey,
      status: 'running',
    });
    const after = await cloud.ssh(machine);
    expect(await must(after, 'cat $FAIRLEAD_ROOT/proc/sys/kernel/random/boot_id; sysctl -n vm.swappiness')).toBe(
      `${boot}\n7`,
    );
    await eventually(
      async () => (await after.execCommand('systemctl is-active work kubelet')).stdout === 'active\nactive',
    );
    expect(await must(after, 'kubeadm token create --print-join-command')).toContain(`kubeadm join ${host}:6443`);
    await eventually(() => reaches(host, 6443));
    expect((await cloud.call('GET', 'faults')).body).toMatchObject({ items: [{ kind: 'command-failure', times: 3 }] });
  }, 60_000);

  it('loses no acknowledged change when it is killed [Cluster API 33]', async () => {
    const cloud = await started();
    const machine = await cloud.machine('m');
    const ssh = await cloud.ssh(machine);
    await must(ssh, `${PREPARE_HOST}; kubeadm init`);
    await cloud.group('late', ['late-1']);
    const folder = newFolder('killed');
    try {
      // A copy of the data folder at this moment is what a killed lab leaves behind.
      await cp(cloud.folder, folder, {
        recursive: true,
        verbatimSymlinks: true,
        filter: (path) => !path.includes('/calls'),
      });
      await cloud.stop();
      lab = undefined;
      lab = await cloud.startOn(folder);
      const { machines } = (await lab.call<TestGroup>('GET', 'groups/late')).body;
      expect(machines.map(({ name, status }) => `${name} ${status}`)).toEqual(['late-1 running']);
      const again = await lab.ssh(machine);
      expect(await must(again, 'kubeadm token create --print-join-command')).toContain(
        `kubeadm join ${machine.publicIp}`,
      );
    } finally {
      await lab?.stop();
      lab = undefined;
      removeFolder(folder);
    }
  }, 60_000);

  it('shares the loopback range with other labs', async () => {
    const cloud = await started();
    const other = await TestLab.start();
    try {
      const [mine, theirs] = [await cloud.machine('m'), await other.machine('m')];
      expect(mine.publicIp.split('.')[1]).not.toBe(theirs.publicIp.split('.')[1]);
    } finally {
      await other.stop();
    }
  });
});

const reaches = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
