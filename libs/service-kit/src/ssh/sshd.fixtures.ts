import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, stat, type FileHandle, unlink } from 'node:fs/promises';
import { connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import ssh2, { type Connection, type SFTPWrapper } from 'ssh2';
import { fingerprintOf } from './host.key.js';
import type { HostUnderTest } from './shell.features.js';

const { STATUS_CODE } = ssh2.utils.sftp;

const newKey = (): string =>
  generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  }).privateKey;

/** An SSH server with a real /bin/sh and real files below a temporary root, like a lab host. */
export class TestSshd implements HostUnderTest {
  private readonly sockets = new Set<Socket>();
  private listener: NetServer | undefined;
  private accepted = 0;
  /** Once set, no key can log in; open connections stay. */
  isLocked = false;
  /** Number of connections forwarded through this server. */
  forwarded = 0;
  private port = 0;

  private constructor(
    readonly root: string,
    private readonly keys: { host: string; readonly client: string },
    private readonly environment: Readonly<Record<string, string>>,
    private readonly host: string,
  ) {}

  /** `host`: the loopback address on which it listens. */
  static async start(environment: Readonly<Record<string, string>> = {}, host = '127.0.0.1'): Promise<TestSshd> {
    const root = newFolder('sshd');
    const sshd = new TestSshd(root, { host: newKey(), client: newKey() }, environment, host);
    await sshd.comeBack();
    return sshd;
  }

  get address() {
    return {
      name: 'demo-cp-1-aaaaa',
      host: this.host,
      port: this.port,
      user: 'root',
      privateKey: this.keys.client,
      hostKey: null,
    };
  }

  get fingerprint(): string {
    const parsed = ssh2.utils.parseKey(this.keys.host);
    if (parsed instanceof Error) throw parsed;
    return fingerprintOf((Array.isArray(parsed) ? parsed[0] : parsed)?.getPublicSSH() ?? Buffer.alloc(0));
  }

  async read(path: string): Promise<string | undefined> {
    return readFile(join(this.root, path), 'utf8').catch(() => undefined);
  }

  async modeOf(path: string): Promise<number> {
    return (await stat(join(this.root, path))).mode & 0o777;
  }

  connections(): number {
    return this.accepted;
  }

  async goAway(): Promise<void> {
    const { listener } = this;
    this.listener = undefined;
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => (listener === undefined ? resolve() : listener.close(() => resolve())));
  }

  async comeBack(): Promise<void> {
    const server = new ssh2.Server({ hostKeys: [this.keys.host] }, (client) => this.serve(client));
    const listener = createServer({ noDelay: true }, (socket) => {
      this.accepted += 1;
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => this.sockets.delete(socket));
      server.injectSocket(socket);
    });
    await new Promise<void>((resolve) => listener.listen(this.port, this.host, resolve));
    this.port = (listener.address() as { port: number }).port;
    this.listener = listener;
  }

  /** From here on another machine answers at its address: connections break, and new ones see another host key. */
  async isReplaced(): Promise<void> {
    await this.goAway();
    this.keys.host = newKey();
    await this.comeBack();
  }

  async stop(): Promise<void> {
    await this.goAway();
    removeFolder(this.root);
  }

  private forward(accept: () => Duplex, reject: () => void, host: string, port: number): void {
    const socket = connect(port, host);
    const refused = (): void => reject();
    socket.once('error', refused);
    socket.once('connect', () => {
      socket.off('error', refused);
      this.forwarded += 1;
      const channel = accept();
      const end = (): void => {
        socket.destroy();
        channel.destroy();
      };
      socket.on('error', end).on('close', end);
      channel.on('error', end).on('close', end);
      socket.pipe(channel).pipe(socket);
    });
  }

  private serve(client: Connection): void {
    client.on('error', () => client.end());
    client.on('authentication', (context) =>
      context.method === 'publickey' && !this.isLocked ? context.accept() : context.reject(),
    );
    client.on('tcpip', (accept, reject, { destIP, destPort }) => this.forward(accept, reject, destIP, destPort));
    client.on('session', (accept) => {
      const session = accept();
      session.on('sftp', (acceptSftp) => serveFiles(acceptSftp(), this.root));
      session.on('exec', (acceptExec, _reject, { command }) => {
        const channel = acceptExec();
        const env = { ...process.env, ...this.environment, FAIRLEAD_ROOT: this.root };
        const child = spawn('/bin/sh', ['-c', command], { env, detached: true, cwd: this.root });
        const kill = (): void => {
          if (child.exitCode !== null || child.pid === undefined) return;
          try {
            process.kill(-child.pid, 'SIGKILL');
          } catch {
            child.kill('SIGKILL'); // The process group ended between the check and the signal.
          }
        };
        channel.pipe(child.stdin);
        channel.once('close', kill);
        child.stdin.on('error', () => undefined);
        child.stdout.pipe(channel, { end: false });
        child.stderr.pipe(channel.stderr, { end: false });
        child.on('close', (code) => {
          channel.exit(code ?? 1);
          channel.end();
        });
      });
    });
  }
}

/** The part of SFTP that uploads need. Paths are resolved within the host's root. */
const serveFiles = (sftp: SFTPWrapper, root: string): void => {
  const files = new Map<number, FileHandle>();
  let next = 0;
  const at = (path: string): string => join(root, path);
  const answer = (id: number, work: () => Promise<void>): void => {
    work().then(
      () => sftp.status(id, STATUS_CODE.OK),
      (error: NodeJS.ErrnoException) =>
        sftp.status(id, error.code === 'ENOENT' ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE),
    );
  };
  sftp.on('OPEN', (id, path, flags, { mode }) => {
    open(at(path), ssh2.utils.sftp.flagsToString(flags) ?? 'w', mode).then(
      (file) => {
        const handle = Buffer.alloc(4);
        handle.writeUInt32BE((next += 1));
        files.set(next, file);
        sftp.handle(id, handle);
      },
      () => sftp.status(id, STATUS_CODE.NO_SUCH_FILE),
    );
  });
  sftp.on('WRITE', (id, handle, offset, data) =>
    answer(id, async () => void (await files.get(handle.readUInt32BE(0))?.write(data, 0, data.length, offset))),
  );
  sftp.on('CLOSE', (id, handle) => answer(id, async () => files.get(handle.readUInt32BE(0))?.close()));
  sftp.on('FSETSTAT', (id, handle, { mode }) =>
    answer(id, async () => (mode === undefined ? undefined : files.get(handle.readUInt32BE(0))?.chmod(mode & 0o777))),
  );
  sftp.on('SETSTAT', (id, path, { mode }) =>
    answer(id, async () => (mode === undefined ? undefined : chmod(at(path), mode & 0o777))),
  );
  sftp.on('MKDIR', (id, path, { mode }) =>
    answer(id, async () => void (await mkdir(at(path), mode === undefined ? {} : { mode }))),
  );
  sftp.on('REMOVE', (id, path) => answer(id, () => unlink(at(path))));
  sftp.on('RENAME', (id, from, to) => answer(id, () => rename(at(from), at(to))));
  sftp.on('STAT', (id, path) => {
    stat(at(path)).then(
      ({ mode, uid, gid, size, atimeMs, mtimeMs }) =>
        sftp.attrs(id, { mode, uid, gid, size, atime: Math.floor(atimeMs / 1000), mtime: Math.floor(mtimeMs / 1000) }),
      () => sftp.status(id, STATUS_CODE.NO_SUCH_FILE),
    );
  });
};
