import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '@fairlead/embedded';
import { newFolder, removeFolder } from '@fairlead/testing';

const run = promisify(execFile);
export const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
/** Download, build and first start: half a minute on an idle machine, longer on a busy one. */
export const FIRST_START_TIMEOUT_MS = 600_000;
export const SECOND_START_TIMEOUT_MS = 180_000;
export const ORDINARY = { uid: 65534, gid: 65534 } as const;
export const isRoot = process.getuid?.() === 0;
/** Debian's folders of programs, and nothing else. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const OUTPUT_MAX = 1024 * 1024;
/** Only the machine's settings that the network requires. */
const PASSED_ON =
  /^(PATH|LANG|LC_\w+|TMPDIR|TZ|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|(https?|no|all)_proxy|npm_config_(registry|cafile|proxy|https_proxy|noproxy))$/i;
/** Secret settings of npm are not copied. */
const SECRET_SETTING = /_auth|_password|token|^\s*(key|cert)\s*=/i;

/** A root file system in which a command is run; the folder has the same path there. */
export interface MinimalMachine {
  enter(folder: string, workFolder: string): readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** A user who has just cloned: a folder, an empty home, and nothing of this process' environment. */
export class Newcomer {
  readonly folder = newFolder('fresh');
  readonly clone = join(this.folder, 'fairlead');
  readonly data = join(this.folder, 'data');
  readonly kubeconfig = join(this.data, 'kubeconfigs', 'demo.yaml');
  private readonly marker = randomUUID();
  private readonly home = join(this.folder, 'home');
  private readonly npmrc = join(this.folder, 'npmrc');
  private readonly npmCache = join(this.folder, 'npm-cache');

  constructor(
    private readonly identity: { readonly uid: number; readonly gid: number } | undefined,
    private readonly machine?: MinimalMachine,
  ) {}

  async clones(): Promise<void> {
    // By the file protocol: a local clone would share files with the checkout, whose owner will change.
    await run('git', ['clone', '--quiet', '--depth', '1', `file://${CHECKOUT}`, this.clone]);
    mkdirSync(this.home);
    // Reuses this machine's downloads; the home still stays empty.
    const downloads = join(await npmSetting('cache'), '_cacache');
    mkdirSync(this.npmCache);
    if (existsSync(downloads)) await run('cp', ['-R', downloads, this.npmCache]);
    writeFileSync(this.npmrc, await npmSettings());
    const { identity } = this;
    if (identity === undefined) return;
    await run('chown', ['-R', `${identity.uid}:${identity.gid}`, this.clone, this.npmCache]);
    for (const path of [this.folder, this.home, this.npmrc]) chownSync(path, identity.uid, identity.gid);
  }

  /** `npm start -- --once …`: a small cluster in a separate data folder. */
  async starts(timeoutMs: number): Promise<Ended> {
    const [port = 0] = await freePorts(this.folder, 1);
    const size = ['--control-planes', '1', '--workers', '1', '--delays', 'none'];
    return this.npm(['start', '--', '--once', '--port', String(port), '--data', this.data, ...size], timeoutMs);
  }

  /** Runs npm in the clone, in a separate process group, which is ended at the deadline. */
  async npm(args: readonly string[], timeoutMs: number): Promise<Ended> {
    const entered = this.machine?.enter(this.folder, this.clone) ?? [];
    const [program = '', ...rest] = [...entered, ...this.become(), 'npm', ...args];
    const child = spawn(program, rest, {
      cwd: this.clone,
      env: this.environment(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-OUTPUT_MAX)));
    const deadline = setTimeout(() => {
      output += `\nnot ended after ${timeoutMs} ms\n`;
      endGroup(child.pid);
    }, timeoutMs);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(deadline);
        resolve({ code, output });
      });
    });
  }

  /** Processes with our mark in their environment, or with our folder in their command line or as working directory. */
  leftovers(): readonly string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .flatMap((pid) => {
        const command = readIfAny(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
        const isOurs =
          command.includes(this.folder) ||
          readIfAny(`/proc/${pid}/environ`).includes(this.marker) ||
          workingFolderOf(pid).startsWith(this.folder);
        return isOurs ? [`${pid} ${command}`] : [];
      });
  }

  leaves(): void {
    for (const line of this.leftovers()) endGroup(Number.parseInt(line, 10));
    removeFolder(this.folder);
  }

  private become(): readonly string[] {
    const { identity } = this;
    return identity === undefined
      ? []
      : ['setpriv', `--reuid=${identity.uid}`, `--regid=${identity.gid}`, '--clear-groups'];
  }

  private environment(): NodeJS.ProcessEnv {
    const passedOn = Object.entries(process.env).filter(([name]) => PASSED_ON.test(name));
    const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
    return {
      ...Object.fromEntries(passedOn),
      PATH: this.machine === undefined ? path.join(delimiter) : SYSTEM_PATH,
      HOME: this.home,
      CI: 'true',
      npm_config_userconfig: this.npmrc,
      npm_config_cache: this.npmCache,
      npm_config_prefer_offline: 'true',
      FAIRLEAD_TEST_MARKER: this.marker,
    };
  }
}

/** The npm settings of this machine (a registry, its certificate), without secrets. */
const npmSettings = async (): Promise<string> => {
  const lines = readIfAny(await npmSetting('userconfig')).split('\n');
  return lines.filter((line) => !SECRET_SETTING.test(line)).join('\n');
};

const npmSetting = async (name: string): Promise<string> =>
  (await run('npm', ['config', 'get', name], { cwd: tmpdir() })).stdout.trim();

const readIfAny = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // There is none, or its process has ended or belongs to another program.
  }
};

const workingFolderOf = (pid: string): string => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
};

const endGroup = (pid: number | undefined): void => {
  if (pid === undefined) return;
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      continue; // It has ended, or leads no group.
    }
  }
};
