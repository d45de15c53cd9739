import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NodeSSH } from 'node-ssh';
import { PREPARE_HOST, TestLab, must, type TestMachine } from '../testing/test.lab.js';

const UNIT = `[Unit]
Description=A unit of a test
[Service]
ExecStart=/usr/bin/node /opt/work.mjs
Environment=GREETING=hello
Restart=always
RestartSec=50ms
[Install]
WantedBy=multi-user.target
`;

const PROGRAM = `
console.log(process.env.GREETING, process.pid, process.env.FAIRLEAD_ROOT);
setInterval(() => undefined, 1000);
`;

// Runs real shells and processes, on a machine that may be busy with other tests.
describe('stand-ins on a simulated host', () => {
  let lab: TestLab;
  let machine: TestMachine;
  let ssh: NodeSSH;

  beforeAll(async () => {
    lab = await TestLab.start();
    machine = await lab.machine('host-1');
    ssh = await lab.ssh(machine);
  }, 60_000);

  afterAll(async () => {
    await lab.stop();
  });

  it('do not exist before their package is installed, and neither do programs of the real machine', async () => {
    const result = await ssh.execCommand('command -v kubeadm kubelet kubectl containerd docker ssh-keygen');
    expect(result).toMatchObject({ stdout: '' });
    expect(await ssh.execCommand('kubectl get nodes')).toMatchObject({ code: 127 });
  });

  it('replace every program that could change the real machine: power, clock, name, processes, network', async () => {
    const root = await must(ssh, 'echo $FAIRLEAD_ROOT');
    const dangerous =
      'reboot shutdown poweroff halt init telinit systemctl date hostname hostnamectl timedatectl mount umount sysctl swapoff modprobe ' +
      'pkill killall ip nft iptables nsenter unshare chroot sudo su crontab at dd mknod python3 perl ssh docker';
    const found = (await ssh.execCommand(`for name in ${dangerous}; do command -v $name; done`)).stdout.split('\n');
    expect(found).toContain(`${root}/usr/lib/lab/bin/reboot`);
    expect(found.filter((path) => !path.startsWith(`${root}/usr/lib/lab/bin/`))).toEqual([]);
    const folders = (await must(ssh, 'echo $PATH')).split(':');
    expect(folders).toEqual([`${root}/usr/lib/lab/bin`, expect.stringMatching(/\/tools$/)]);
    expect(await must(ssh, `for folder in ${folders[1]}; do ls $folder; done`)).not.toMatch(
      /^(reboot|shutdown|date|ps|init)$/m,
    );
  });

  it('reboot only their own host', async () => {
    const root = await must(ssh, 'echo $FAIRLEAD_ROOT');
    const bootId = `cat ${root}/proc/sys/kernel/random/boot_id`;
    // A failing test must not reboot the real machine.
    expect(await must(ssh, 'command -v reboot')).toBe(`${root}/usr/lib/lab/bin/reboot`);
    const before = await must(ssh, bootId);
    await ssh.execCommand('reboot');
    await eventually(async () => {
      try {
        ssh = await lab.ssh(machine);
        return (await must(ssh, bootId)) !== before;
      } catch {
        return false; // The host is going down, or is not up yet.
      }
    });
  });

  it('print the time, but cannot set the clock', async () => {
    const seconds = Number(await must(ssh, 'date +%s'));
    expect(Math.abs(seconds - Date.now() / 1_000)).toBeLessThan(60);
    expect(await must(ssh, 'date -u +%Y-%m-%dT%H:%M:%SZ')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const root = await must(ssh, 'echo $FAIRLEAD_ROOT');
    expect(await ssh.execCommand(`${root}/usr/lib/lab/bin/date -s 2001-01-01`)).toMatchObject({
      code: 1,
      stderr: 'date: cannot set date: Operation not permitted',
    });
  });

  it('install, hold and report packages as apt and dpkg do', async () => {
    expect(await ssh.execCommand('apt-get install -y kubelet')).toMatchObject({
      code: 100,
      stderr: 'E: Unable to locate package kubelet',
    });
    await must(ssh, PREPARE_HOST);
    await must(ssh, 'apt-mark hold kubelet');
    expect(
      await must(
        ssh,
        "dpkg-query -W -f='${Package} ${Version} ${db:Status-Want} ${db:Status-Status}\\n' kubelet kubeadm",
      ),
    ).toBe('kubeadm 1.34.4-1.1 install installed\nkubelet 1.34.4-1.1 hold installed');
    expect(await ssh.execCommand("apt-get install -y 'kubelet=1.33.13*'")).toMatchObject({ code: 100 });
    expect(await must(ssh, 'kubelet --version; kubeadm version -o short; containerd --version')).toMatch(
      /^Kubernetes v1\.34\.4\nv1\.34\.4\ncontainerd .* v1\.7\.24 /,
    );
  });

  it('answer many concurrent calls, each to its own caller', async () => {
    const calls = Array.from({ length: 40 }, (_, index) => `sysctl -w test.key${index}=${index} &`).join(' ');
    const lines = (await must(ssh, `${calls} wait`)).split('\n').sort();
    expect(lines).toEqual(Array.from({ length: 40 }, (_, index) => `test.key${index} = ${index}`).sort());
  });

  it('report root as the only user, as the rotation of SSH keys requires', async () => {
    expect(await must(ssh, 'getent passwd root | cut -d: -f6; id -u')).toBe('/root\n0');
    expect(await ssh.execCommand('getent passwd debian')).toMatchObject({ code: 2, stdout: '' });
  });

  it('accept any argument unchanged', async () => {
    expect(await must(ssh, `sysctl -w "test.odd= a'b \\"c\\" \\$d  e"`)).toBe(`test.odd = a'b "c" $d  e`);
  });

  it('start a unit as a real process of the host and restart it when it exits', async () => {
    const root = await must(ssh, 'echo $FAIRLEAD_ROOT');
    await must(ssh, `printf '%s' '${UNIT}' >$FAIRLEAD_ROOT/etc/systemd/system/work.service`);
    await must(ssh, `printf '%s' '${PROGRAM}' >$FAIRLEAD_ROOT/opt/work.mjs`);
    await must(ssh, 'systemctl daemon-reload; systemctl enable --now work');
    const pid = async (): Promise<string> => await must(ssh, 'systemctl show -p MainPID --value work');
    const before = await pid();
    await eventually(async () => (await must(ssh, 'journalctl -u work')).includes(`hello ${before} ${root}`));
    await must(ssh, `kill -9 ${before}`);
    await eventually(async () => !['0', before].includes(await pid()));
    expect(await must(ssh, 'systemctl is-active work')).toBe('active');
    await must(ssh, 'systemctl stop work');
    expect(await ssh.execCommand('systemctl is-active work')).toMatchObject({ code: 3, stdout: 'inactive' });
  });

  it('reset settings at a reboot unless a file of the host sets them', async () => {
    await must(ssh, 'sysctl -w vm.swappiness=1; echo net.ipv4.ip_forward=1 >$FAIRLEAD_ROOT/etc/sysctl.d/k8s.conf');
    const before = await must(ssh, 'cat $FAIRLEAD_ROOT/proc/sys/kernel/random/boot_id');
    await lab.call('POST', `machines/${machine.id}/power`, { action: 'reboot' });
    ssh = await lab.ssh(machine);
    expect(await must(ssh, 'cat $FAIRLEAD_ROOT/proc/sys/kernel/random/boot_id')).not.toBe(before);
    expect(await must(ssh, 'sysctl -n vm.swappiness net.ipv4.ip_forward; wc -l <$FAIRLEAD_ROOT/proc/swaps')).toBe(
      '60\n1\n2',
    );
    expect(await must(ssh, 'systemctl is-active containerd work || true')).toBe('active\nactive');
  });

  it('fail as often as a fault requests', async () => {
    const fault = {
      kind: 'command-failure',
      machine: 'host-*',
      command: 'apt-get update',
      message: 'mirror away',
      times: 1,
    };
    await lab.call('PUT', 'faults', { items: [fault] });
    expect(await ssh.execCommand('apt-get update')).toMatchObject({ code: 1, stderr: 'mirror away' });
    expect(await ssh.execCommand('apt-get update')).toMatchObject({ code: 0 });
    expect((await lab.call('GET', 'faults')).body).toEqual({ items: [] });
    const runs = (await lab.commandsOf('host-1')).filter(({ command }) => command === 'apt-get update');
    expect(runs.slice(-4).map(({ exit }) => exit)).toEqual([1, 1, 0, 0]);
  });
});
