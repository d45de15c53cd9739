import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import { quote, sentStep, stepFile } from '@fairlead/node-scripts';
import type { NodeSSH } from 'node-ssh';
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SFTPWrapper } from 'ssh2';
import type { HostAddress, HostFile, HostScript, HostSession, ScriptOutput } from './ssh.ports.js';
import { interruptible } from './interruptible.js';
import { exec } from './ssh.exec.js';

const UPLOAD_TIMEOUT_MS = 120_000;
/** Minimum upload speed assumed for timeouts: one megabyte per second. */
const UPLOAD_BYTES_PER_MS_MIN = 1_000;
/** The host itself ends a step at its limit; this is the additional time until the client does. */
const LIMIT_SLACK_MS = 30_000;
/** An unresponsive host must not delay the report of the failure; the next step there removes the leftovers. */
const REMOVAL_TIMEOUT_MS = 2_000;
const PRIVATE_FILE = 0o600;
const FOLDER_MODE = 0o755;
const PRIVATE_FOLDER_MODE = 0o700;
/** Folder below the home directory of a non-root user for files that root takes over; not accessible to other users. */
const HOME_FOLDER = '.fairlead';

/** State of a connection: its file transfer channel, and the folders known to exist. */
export class SshLink {
  private sftp: Promise<SFTPWrapper> | undefined;
  private folders = new Map<string, Promise<void>>();

  constructor(
    readonly ssh: NodeSSH,
    readonly address: HostAddress,
    readonly hostKey: string,
    readonly jumpHostKey: string | null,
  ) {}

  get isRoot(): boolean {
    return this.address.user === 'root';
  }

  /** Calls back once if the connection is lost. Returns a function that removes the listener. */
  onceLost(lost: () => void): () => void {
    const { connection } = this.ssh;
    if (connection === null) lost();
    connection?.once('close', lost);
    return () => connection?.off('close', lost);
  }

  /** Writes a file as the connection's user, and creates missing folders. */
  async write(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    const sftp = await this.files();
    await this.folder(sftp, posix.dirname(path));
    // A view of bytes, not a copy: many hosts get the same content at the same time.
    const data =
      typeof content === 'string'
        ? Buffer.from(content)
        : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    await new Promise<void>((resolve, reject) => {
      sftp.writeFile(path, data, { mode }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** The same for a local file that is too large for memory. */
  async send(file: string, path: string, mode: number): Promise<void> {
    const sftp = await this.files();
    await this.folder(sftp, posix.dirname(path));
    await new Promise<void>((resolve, reject) => {
      sftp.fastPut(file, path, { mode }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Does nothing if the file does not exist. Never rejects, and has a timeout. */
  async remove(path: string): Promise<void> {
    if (!this.ssh.isConnected()) return;
    const removed = this.files().then((sftp) => new Promise<void>((resolve) => sftp.unlink(path, () => resolve())));
    const late = new AbortController();
    await Promise.race([
      removed.catch(() => undefined),
      sleep(REMOVAL_TIMEOUT_MS, undefined, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
  }

  async exists(path: string): Promise<boolean> {
    const sftp = await this.files();
    return new Promise((resolve) => sftp.stat(path, (error) => resolve(error === undefined)));
  }

  private files(): Promise<SFTPWrapper> {
    this.sftp ??= this.ssh.requestSFTP();
    return this.sftp;
  }

  private folder(sftp: SFTPWrapper, path: string): Promise<void> {
    const folder = this.folders.get(path) ?? makeFolder(sftp, path);
    this.folders.set(path, folder);
    folder.catch(() => this.folders.delete(path));
    return folder;
  }
}

const isFolder = (sftp: SFTPWrapper, path: string): Promise<boolean> =>
  new Promise((resolve) => sftp.stat(path, (error, stats) => resolve(error === undefined && stats.isDirectory())));

const sizeOf = async (content: Uint8Array | string): Promise<number> =>
  typeof content === 'string' ? (await stat(content)).size : content.byteLength;

/** Creates missing parent folders. Another session may create the same one concurrently. */
const makeFolder = async (sftp: SFTPWrapper, path: string): Promise<void> => {
  if (path === '/' || path === '.' || (await isFolder(sftp, path))) return;
  await makeFolder(sftp, posix.dirname(path));
  const failed = await new Promise<Error | undefined>((resolve) => {
    const mode = path.startsWith(HOME_FOLDER) ? PRIVATE_FOLDER_MODE : FOLDER_MODE;
    sftp.mkdir(path, { mode }, (error) => resolve(error ?? undefined));
  });
  if (failed !== undefined && !(await isFolder(sftp, path))) throw failed;
};

/** File transfer uses the host's own paths; commands on a simulated host find them below `$FAIRLEAD_ROOT`. */
const onHost = (path: string): string => (path.startsWith('/') ? `"\${FAIRLEAD_ROOT:-}"${quote(path)}` : quote(path));

/** The login shell may not support `${...:-}`, for example tcsh. */
const inShell = (command: string): string => `sh -c ${quote(command)}`;

const checked = (sha256: string, path: string, asRoot: string): string =>
  `printf '%s  %s\\n' ${sha256} ${onHost(path)} | ${asRoot}sha256sum --check --status`;

/** Uses a connection for one unit of work. */
export class SshSession implements HostSession {
  constructor(
    private readonly link: SshLink,
    readonly attempts: number,
    private readonly giveBack: () => void,
  ) {}

  get hostKey(): string {
    return this.link.hostKey;
  }

  get jumpHostKey(): string | null {
    return this.link.jumpHostKey;
  }

  async run({ name, operation, text, input, limitMs }: HostScript, signal: AbortSignal): Promise<ScriptOutput> {
    const { command, stdin } = sentStep({ name, script: text, input });
    try {
      return await exec(this.link.ssh, {
        command: `${this.asRoot()}${command}`,
        stdin,
        operation,
        target: this.link.address.name,
        timeoutMs: limitMs + LIMIT_SLACK_MS,
        signal,
      });
    } catch (error) {
      await this.removeStep(name);
      throw error;
    }
  }

  /** A step removes its own file when it begins, but this one may not have begun. Never rejects, and has a timeout. */
  private async removeStep(name: string): Promise<void> {
    if (!this.link.ssh.isConnected()) return;
    const removal = {
      command: inShell(`${this.asRoot()}rm -f ${onHost(stepFile(name))}`),
      operation: `remove ${name}`,
      target: this.link.address.name,
      timeoutMs: REMOVAL_TIMEOUT_MS,
      signal: new AbortController().signal,
    };
    await exec(this.link.ssh, removal).catch(() => undefined);
  }

  exists(path: string, signal: AbortSignal): Promise<boolean> {
    return this.said(`look for ${path}`, signal, () => this.link.exists(path));
  }

  async upload({ path, content, mode, sha256 }: HostFile, signal: AbortSignal): Promise<void> {
    const operation = `upload ${path}`;
    // Concurrent uploads of the same file write to different temporary files.
    const upload = `${sha256.slice(0, 12)}-${randomUUID().slice(0, 8)}`;
    const beside = `${path}.${upload}`;
    const staged = this.link.isRoot ? beside : `${HOME_FOLDER}/${upload}`;
    const stagedMode = this.link.isRoot ? mode : PRIVATE_FILE;
    const send =
      typeof content === 'string'
        ? () => this.link.send(content, staged, stagedMode)
        : () => this.link.write(staged, content, stagedMode);
    const timeoutMs = UPLOAD_TIMEOUT_MS + (await sizeOf(content)) / UPLOAD_BYTES_PER_MS_MIN;
    try {
      await this.said(operation, signal, send, timeoutMs);
    } catch (error) {
      await this.link.remove(staged);
      throw error;
    }
    const command = (
      this.link.isRoot
        ? [
            checked(sha256, staged, ''),
            `chmod ${mode.toString(8)} ${onHost(staged)}`,
            `mv -f ${onHost(staged)} ${onHost(path)}`,
          ]
        : [
            // Verified where only root can change it.
            `sudo -n install -D -m ${mode.toString(8)} ${onHost(staged)} ${onHost(beside)}`,
            checked(sha256, beside, 'sudo -n '),
            `sudo -n mv -f ${onHost(beside)} ${onHost(path)}`,
            `rm -f ${onHost(staged)}`,
          ]
    ).join(' && ');
    try {
      await exec(this.link.ssh, {
        command: inShell(command),
        operation,
        target: this.link.address.name,
        timeoutMs,
        signal,
      });
    } catch (error) {
      await this.link.remove(staged);
      throw error;
    }
  }

  release(): void {
    this.giveBack();
  }

  private asRoot(): string {
    return this.link.isRoot ? '' : 'sudo -n ';
  }

  /** Adds operation and host to errors of the file transfer library. */
  private async said<T>(
    operation: string,
    signal: AbortSignal,
    work: () => Promise<T>,
    timeoutMs = UPLOAD_TIMEOUT_MS,
  ): Promise<T> {
    const late = (): Error => new Error(`not done after ${Math.round(timeoutMs / 1000)} s`);
    try {
      return await interruptible({ signal, timeoutMs, late }, (stop) => {
        // The library never settles transfers whose connection was lost.
        const stopListening = this.link.onceLost(() => stop(new Error('the connection was lost')));
        return work().finally(stopListening);
      });
    } catch (error) {
      signal.throwIfAborted();
      const message = `the file transfer failed: ${wordsOf(error)}`;
      throw new ExternalFailure({ operation, target: this.link.address.name, message, cause: error });
    }
  }
}
