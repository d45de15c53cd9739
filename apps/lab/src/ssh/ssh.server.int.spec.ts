import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NodeSSH } from 'node-ssh';
import ssh2 from 'ssh2';
import { TestLab, must, type TestMachine } from '../testing/test.lab.js';

// Runs real shells and processes, on a machine that may be busy with other tests.
describe('SSH of a simulated host', () => {
  let lab: TestLab;
  let machine: TestMachine;
  let ssh: NodeSSH;
  let folder: string;

  beforeAll(async () => {
    lab = await TestLab.start();
    machine = await lab.machine('host-1');
    ssh = await lab.ssh(machine);
    folder = newFolder('ssh');
  }, 60_000);

  afterAll(async () => {
    await lab.stop();
    removeFolder(folder);
  });

  it('runs a command in a real shell, with its exit code and separate output streams', async () => {
    const result = await ssh.execCommand('echo out; echo err >&2; (exit 7)');
    expect(result).toMatchObject({ code: 7, stdout: 'out', stderr: 'err' });
  });

  it('presents the host key that the cloud API reports', async () => {
    let seen = '';
    const connection = new NodeSSH();
    await connection.connect({
      host: machine.publicIp,
      port: machine.sshPort,
      username: 'root',
      privateKey: lab.key.private,
      hostVerifier: (key: Buffer) => {
        seen = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
        return true;
      },
    });
    connection.dispose();
    expect(seen).toBe(machine.hostKey);
  });

  it('accepts only the holder of the key', async () => {
    const stranger = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
    await expect(lab.ssh(machine, stranger.private)).rejects.toThrow(/authentication/i);
  });

  it('kills everything that a command started when its channel closes, also in other process groups', async () => {
    const connection = await lab.ssh(machine);
    const running = connection.execCommand(
      'echo $$ >$HOME/pid; timeout 600 sh -c "echo \\$\\$ >$HOME/inner; sleep 600"',
    );
    running.catch(() => undefined);
    const pidOf = async (name: string): Promise<number> =>
      Number(await must(ssh, `cat $HOME/${name} 2>/dev/null || true`));
    await eventually(async () => (await pidOf('inner')) > 0 && (await pidOf('pid')) > 0);
    const pids = [await pidOf('pid'), await pidOf('inner')];
    connection.dispose();
    await eventually(() => pids.every((pid) => !isAlive(pid)));
  });

  it('keeps background processes of a finished command, like sshd', async () => {
    const connection = await lab.ssh(machine);
    const started =
      'setsid sleep 600 >/dev/null 2>&1 </dev/null & until grep -qx sleep /proc/$!/comm; do :; done; echo $!';
    const left = Number(await must(connection, started));
    connection.execCommand('echo $$ >$HOME/running; exec sleep 600').catch(() => undefined);
    const runningPid = async (): Promise<number> => Number(await must(ssh, 'cat $HOME/running 2>/dev/null || true'));
    await eventually(async () => (await runningPid()) > 0);
    const running = await runningPid();
    connection.dispose();
    await eventually(() => !isAlive(running));
    // The command line of a zombie process is empty, so this checks that it still runs.
    expect(await readFile(`/proc/${left}/cmdline`, 'utf8')).toContain('sleep');
    process.kill(left, 'SIGKILL');
  });

  it('transfers files over SFTP unchanged', async () => {
    const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));
    await writeFile(join(folder, 'up'), content);
    await ssh.putFile(join(folder, 'up'), '/var/lib/fairlead/some/deep/file');
    expect(await must(ssh, 'sha256sum <$FAIRLEAD_ROOT/var/lib/fairlead/some/deep/file | cut -c1-64')).toBe(
      createHash('sha256').update(content).digest('hex'),
    );
    await ssh.getFile(join(folder, 'down'), '/var/lib/fairlead/some/deep/file');
    expect((await readFile(join(folder, 'down'))).equals(content)).toBe(true);
  });

  it('confines SFTP to the host', async () => {
    await ssh.putFile(join(folder, 'up'), '/../../../../outside');
    expect(await must(ssh, 'ls $FAIRLEAD_ROOT/outside')).toContain('outside');
    await must(ssh, 'ln -s / $FAIRLEAD_ROOT/leak');
    await expect(ssh.getFile(join(folder, 'x'), '/leak/etc/hostname')).rejects.toThrow(/permission|EACCES/i);
  });

  it('identifies itself as a simulation to clients', async () => {
    expect(await must(ssh, 'cat $FAIRLEAD_ROOT/etc/os-release')).toContain(
      'PRETTY_NAME="Debian GNU/Linux 12 (simulated by Fairlead lab)"',
    );
    expect(await must(ssh, 'uname -a')).toContain('simulated by Fairlead lab');
  });
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // No such process.
  }
};
