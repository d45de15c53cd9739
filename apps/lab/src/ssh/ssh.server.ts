import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import ssh2, { type AuthContext, type Connection, type ParsedKey, type Session } from 'ssh2';
import type { HostFiles } from '../files/host.files.js';
import type { HostShell, RunningCall } from './host.shell.js';
import { serveSftp } from './sftp.session.js';

export interface SshHost {
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly hostKeyPem: string;
  readonly files: HostFiles;
  readonly shell: HostShell;
  /** The public keys, in OpenSSH format, that may log in now. */
  authorizedKeys(): Promise<readonly string[]>;
  /** How long a new connection waits before it is answered; null: forever. */
  connectDelayMs(): number | null;
}

const CONNECTIONS_MAX = 64;
const BANNER = 'Simulated host of Fairlead lab';

type State = 'answering' | 'silent';

/** The SSH server of one host: public keys only, commands and SFTP, no interactive sessions or forwarding. */
export class SshServer {
  private readonly sockets = new Set<Socket>();
  private readonly calls = new Set<RunningCall>();
  private listener: NetServer | undefined;
  /** Created for the first client, because most hosts of a large lab have no client at the same time. */
  private server: ssh2.Server | undefined;
  private state: State = 'answering';

  constructor(private readonly host: SshHost) {}

  async open(): Promise<void> {
    if (this.listener !== undefined) return;
    const listener = createServer({ noDelay: true }, (socket) => this.accepted(socket));
    listener.maxConnections = CONNECTIONS_MAX;
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen({ host: this.host.address, port: this.host.port, exclusive: true }, () => resolve());
    });
    this.listener = listener;
  }

  /** Closes every connection; the host kills running commands. */
  async close(): Promise<void> {
    const listener = this.listener;
    this.listener = undefined;
    for (const socket of this.sockets) socket.destroy();
    if (listener !== undefined) await new Promise<void>((resolve) => listener.close(() => resolve()));
  }

  /** Simulates a cut cable: connections stay open but pass no data. */
  silence(): void {
    this.state = 'silent';
    for (const socket of this.sockets) socket.pause();
  }

  /** Closes connections from before the silence, which are no longer in a known state. */
  answer(): void {
    if (this.state === 'silent') for (const socket of this.sockets) socket.destroy();
    this.state = 'answering';
  }

  private accepted(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const delayMs = this.state === 'silent' ? null : this.host.connectDelayMs();
    if (delayMs === null) return;
    if (delayMs === 0) this.serve(socket);
    else {
      const timer = setTimeout(() => this.serve(socket), delayMs);
      socket.once('close', () => clearTimeout(timer));
    }
  }

  private serve(socket: Socket): void {
    if (socket.destroyed || this.state === 'silent') return;
    this.server ??= new ssh2.Server(
      { hostKeys: [this.host.hostKeyPem], ident: 'fairlead-lab', banner: BANNER },
      (client) => this.connected(client),
    );
    answerInOnePiece(socket);
    this.server.injectSocket(socket);
  }

  private connected(client: Connection): void {
    client.on('authentication', (context) => void this.authenticate(context).catch(() => context.reject()));
    client.on('error', () => client.end());
    client.on('session', (accept) => this.serveSession(accept()));
  }

  private async authenticate(context: AuthContext): Promise<void> {
    if (context.method !== 'publickey' || context.username !== this.host.user) {
      context.reject(['publickey']);
      return;
    }
    const key = (await this.host.authorizedKeys())
      .map(parseKey)
      .find((candidate) => candidate !== undefined && sameKey(candidate, context.key.data));
    const { signature, blob } = context;
    // Without a signature, the client only asks whether the key would be accepted.
    const proven =
      key !== undefined &&
      (signature === undefined || (blob !== undefined && key.verify(blob, signature, context.hashAlgo) === true));
    if (proven) context.accept();
    else context.reject(['publickey']);
  }

  private serveSession(session: Session): void {
    const environment: Record<string, string> = {};
    session.on('env', (accept, _reject, { key, val }) => {
      environment[key] = val;
      accept?.();
    });
    session.on('sftp', (accept) => serveSftp(accept(), this.host.files));
    session.on('exec', (accept, _reject, { command }) => {
      const channel = accept();
      const call = this.host.shell.run({
        command,
        environment,
        stdin: channel,
        stdout: channel,
        stderr: channel.stderr,
      });
      this.calls.add(call);
      let open = true;
      channel.once('close', () => {
        open = false;
        // Like sshd, keeps background processes of a finished command: finding them would require reading /proc of
        // every process.
        if (this.calls.has(call)) call.signal('SIGKILL');
      });
      session.on('signal', (acceptSignal, _rejectSignal, { name }) => {
        acceptSignal?.();
        call.signal(`SIG${name}` as NodeJS.Signals);
      });
      void call.ended.then(({ code, signal }) => {
        this.calls.delete(call);
        if (!open) return;
        if (signal === null) channel.exit(code ?? 0);
        else channel.exit(signal.replace(/^SIG/, ''));
        channel.end();
      });
    });
  }
}

/** Sends the response to one packet of a client in one write, because each write costs more than encrypting it. */
const answerInOnePiece = (socket: Socket): void => {
  socket.on('data', () => {
    socket.cork();
    setImmediate(() => socket.uncork());
  });
};

const parseKey = (text: string): ParsedKey | undefined => {
  const parsed = ssh2.utils.parseKey(text);
  return parsed instanceof Error ? undefined : Array.isArray(parsed) ? parsed[0] : parsed;
};

const sameKey = (key: ParsedKey, data: Buffer): boolean => {
  const expected = key.getPublicSSH();
  return expected.length === data.length && timingSafeEqual(expected, data);
};
