import { WorldFailure, wordsOf } from '@fairlead/contracts';
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
/** A slower line than this, one megabyte in a second, gives large files no chance. */
const UPLOAD_BYTES_PER_MS_MIN = 1_000;
/** The host ends a step by itself when its limit is over; only where it does not, we do. */
const LIMIT_SLACK_MS = 30_000;
/** A host that does not answer must not delay the report of the failure; the next step there removes what is left. */
const REMOVAL_TIMEOUT_MS = 2_000;
const PRIVATE_FILE = 0o600;
const FOLDER_MODE = 0o755;
const PRIVATE_FOLDER_MODE = 0o700;
/** Where a user who is not root leaves what root must take, below the home directory; no other user may look into it. */
const HOME_FOLDER = '.fairlead';

/** What stays the same for a connection: the file transfer channel, and the folders that exist. */
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

  /** Calls back once when the connection is lost. Answers how to stop listening. */
  onceLost(lost: () => void): () => void {
    const { connection } = this.ssh;
    if (connection === null) lost();
    connection?.once('close', lost);
    return () => connection?.off('close', lost);
  }

  /** Writes a file as the user whose connection this is, below folders that are made where they are missing. */
  async write(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    const sftp = await this.files();
    await this.folder(sftp, posix.dirname(path));
    // Of bytes this is a view: many hosts get the same ones at the same time.
    const data =
      typeof content === 'string'
        ? Buffer.from(content)
        : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    await new Promise<void>((resolve, reject) => {
      sftp.writeFile(path, data, { mode }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** The same for a file of ours that is too large for memory. */
  async send(file: string, path: string, mode: number): Promise<void> {
    const sftp = await this.files();
    await this.folder(sftp, posix.dirname(path));
    await new Promise<void>((resolve, reject) => {
      sftp.fastPut(file, path, { mode }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Nothing happens where there is none. Rejects never, and takes no longer than it may. */
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

/** Folders above it are made first. Someone else may make the same one at the same time. */
const makeFolder = async (sftp: SFTPWrapper, path: string): Promise<void> => {
  if (path === '/' || path === '.' || (await isFolder(sftp, path))) return;
  await makeFolder(sftp, posix.dirname(path));
  const failed = await new Promise<Error | undefined>((resolve) => {
    const mode = path.startsWith(HOME_FOLDER) ? PRIVATE_FOLDER_MODE : FOLDER_MODE;
    sftp.mkdir(path, { mode }, (error) => resolve(error ?? undefined));
  });
  if (failed !== undefined && !(await isFolder(sftp, path))) throw failed;
};

/** File transfer sees the host's own paths; commands of a simulated host find them below `$FAIRLEAD_ROOT`. */
const onHost = (path: string): string => (path.startsWith('/') ? `"\${FAIRLEAD_ROOT:-}"${quote(path)}` : quote(path));

/** The login shell may be one that does not know `${...:-}`, such as tcsh. */
const inShell = (command: string): string => `sh -c ${quote(command)}`;

const checked = (sha256: string, path: string, asRoot: string): string =>
  `printf '%s  %s\\n' ${sha256} ${onHost(path)} | ${asRoot}sha256sum --check --status`;

/** Uses a link for one piece of work. */
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

  /** A step removes its own file when it begins; this one may not have. Rejects never, and takes no longer than it may. */
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
    // Two uploads of the same file at the same time do not share what they write to.
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
            // Checked where only root can change it.
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

  /** File transfer fails in the words of its library; we add what was tried and where. */
  private async said<T>(
    operation: string,
    signal: AbortSignal,
    work: () => Promise<T>,
    timeoutMs = UPLOAD_TIMEOUT_MS,
  ): Promise<T> {
    const late = (): Error => new Error(`not done after ${Math.round(timeoutMs / 1000)} s`);
    try {
      return await interruptible({ signal, timeoutMs, late }, (stop) => {
        // The library never answers transfers that were under way when their connection went.
        const stopListening = this.link.onceLost(() => stop(new Error('the connection was lost')));
        return work().finally(stopListening);
      });
    } catch (error) {
      signal.throwIfAborted();
      const message = `the file transfer failed: ${wordsOf(error)}`;
      throw new WorldFailure({ operation, target: this.link.address.name, message, cause: error });
    }
  }
}
