import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import ssh2 from 'ssh2';

const SSHD = '/usr/sbin/sshd';
const TRIES_MAX = 400;
const PAUSE_MS = 50;

export interface LoginOptions {
  /** The login shell of root, as in /etc/passwd. */
  readonly shell?: string;
  /** Lines of sshd_config in addition to the common ones. */
  readonly config?: readonly string[];
  /** Options in front of the key in authorized_keys. */
  readonly keyOptions?: string;
  /** Files of the home folder. */
  readonly home?: Readonly<Record<string, string>>;
  /** Folders of the host that are separate file systems, with these mount options. */
  readonly mounts?: Readonly<Record<string, string>>;
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(socket.destroy() !== undefined));
    socket.once('error', () => resolve(false));
  });

/**
 * A real OpenSSH server with its own root login: in a mount namespace with another /etc/passwd. Its commands use the
 * folder `root` as their host.
 */
export class OpenSsh {
  private constructor(
    readonly port: number,
    readonly privateKey: string,
    private readonly folder: string,
    private readonly process: ChildProcess,
  ) {}

  static async start(options: LoginOptions = {}): Promise<OpenSsh> {
    const {
      shell = '/bin/bash',
      config = ['Subsystem sftp internal-sftp'],
      keyOptions = '',
      home = {},
      mounts = {},
    } = options;
    const folder = newFolder('openssh');
    const at = (...names: readonly string[]): string => join(folder, ...names);
    const port = await freePort();
    const key = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'ops' });
    const hostKey = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'host' });
    for (const name of ['home', 'root', 'root/proc']) mkdirSync(at(name), { recursive: true });
    for (const [name, text] of Object.entries(home)) writeFileSync(at('home', name), text);
    symlinkSync('/proc/self', at('root', 'proc', 'self'));
    writeFileSync(
      at('passwd'),
      `root:x:0:0:root:${at('home')}:${shell}\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n`,
    );
    writeFileSync(at('hostkey'), hostKey.private, { mode: 0o600 });
    writeFileSync(at('authorized_keys'), `${keyOptions === '' ? '' : `${keyOptions} `}${key.public}\n`);
    const lines = [
      ...[
        `Port ${port}`,
        'ListenAddress 127.0.0.1',
        `HostKey ${at('hostkey')}`,
        `AuthorizedKeysFile ${at('authorized_keys')}`,
      ],
      ...['PidFile none', 'UsePAM no', 'StrictModes no', 'PermitRootLogin yes', 'PrintMotd no', 'PrintLastLog no'],
      `SetEnv FAIRLEAD_ROOT=${at('root')} PATH=${process.env['PATH'] ?? ''}`,
      ...config,
    ];
    writeFileSync(at('sshd_config'), `${lines.join('\n')}\n`);
    const mounted = Object.entries(mounts).map(([path, how]) => {
      mkdirSync(at('root', path), { recursive: true });
      return `mount -t tmpfs -o size=16m,${how} tmpfs ${at('root', path)}`;
    });
    const script = [
      'set -e',
      `mount --bind ${at('passwd')} /etc/passwd`,
      // The folder for sshd's privilege separation.
      'mount -t tmpfs -o mode=755 tmpfs /run',
      'mkdir /run/sshd',
      ...mounted,
      `exec ${SSHD} -D -e -f ${at('sshd_config')}`,
    ].join('\n');
    writeFileSync(at('start'), script);
    chmodSync(at('start'), 0o700);
    const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', at('start')], { stdio: 'ignore' });
    const server = new OpenSsh(port, key.private, folder, child);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (await answers(port)) return server;
      await sleep(PAUSE_MS);
    }
    await server.stop();
    throw new Error(`sshd does not answer at ${port}`);
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve));
      this.process.kill('SIGTERM');
      await ended;
    }
    removeFolder(this.folder);
  }
}

/** Whether this user may mount in a separate namespace. */
export const mayMount = (): boolean =>
  spawnSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;
