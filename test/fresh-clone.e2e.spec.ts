import { execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '@fairlead/embedded';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
/** An installation from the network, a build, the first start: half a minute on an idle machine, and this one may be busy. */
const FIRST_START_TIMEOUT_MS = 600_000;
const SECOND_START_TIMEOUT_MS = 180_000;
const ORDINARY = { uid: 65534, gid: 65534 } as const;
/** Of the machine's own settings only what the network needs. */
const PASSED_ON =
  /^(PATH|LANG|LC_\w+|TMPDIR|TZ|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|(https?|no|all)_proxy|npm_config_(registry|cafile|proxy|https_proxy|noproxy))$/i;
/** Settings of npm that are secrets stay where they are. */
const SECRET_SETTING = /_auth|_password|token|^\s*(key|cert)\s*=/i;

const isRoot = process.getuid?.() === 0;

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Someone who has just cloned: a folder, an empty home, and nothing of this process' environment. */
class Newcomer {
  readonly folder = newFolder('fresh');
  readonly clone = join(this.folder, 'fairlead');
  readonly data = join(this.folder, 'data');
  readonly kubeconfig = join(this.data, 'kubeconfigs', 'demo.yaml');
  private readonly marker = randomUUID();
  private readonly home = join(this.folder, 'home');
  private readonly npmrc = join(this.folder, 'npmrc');
  private readonly npmCache = join(this.folder, 'npm-cache');

  constructor(private readonly identity: { readonly uid: number; readonly gid: number } | undefined) {}

  async clones(): Promise<void> {
    // By the protocol: a local clone would share files with the checkout, and its owner is about to change.
    await run('git', ['clone', '--quiet', '--depth', '1', `file://${CHECKOUT}`, this.clone]);
    mkdirSync(this.home);
    // What this machine has downloaded already need not be downloaded again; the home stays empty all the same.
    const downloads = join(await npmSetting('cache'), '_cacache');
    mkdirSync(this.npmCache);
    if (existsSync(downloads)) await run('cp', ['-R', downloads, this.npmCache]);
    writeFileSync(this.npmrc, await npmSettings());
    const { identity } = this;
    if (identity === undefined) return;
    await run('chown', ['-R', `${identity.uid}:${identity.gid}`, this.clone, this.npmCache]);
    for (const path of [this.folder, this.home, this.npmrc]) chownSync(path, identity.uid, identity.gid);
  }

  /** `npm start -- --once …`, in its own process group, which is ended at the deadline. */
  async starts(timeoutMs: number): Promise<Ended> {
    const [port = 0] = await freePorts(this.folder, 1);
    const command = ['npm', 'start', '--', '--once', '--port', String(port), '--data', this.data];
    const size = ['--control-planes', '1', '--workers', '1', '--delays', 'none'];
    const [program = '', ...args] = [...this.become(), ...command, ...size];
    const child = spawn(program, args, {
      cwd: this.clone,
      env: this.environment(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
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

  /** Processes that carry our mark in their environment, or our folder in their command or as the place where they work. */
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
      PATH: path.join(delimiter),
      HOME: this.home,
      CI: 'true',
      npm_config_userconfig: this.npmrc,
      npm_config_cache: this.npmCache,
      npm_config_prefer_offline: 'true',
      FAIRLEAD_TEST_MARKER: this.marker,
    };
  }
}

/** The settings of npm on this machine (a registry, its certificate), without secrets. */
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
    return ''; // There is none, or the process that it names has ended or belongs to another program.
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

const authorityIn = (kubeconfig: string): string | undefined =>
  /certificate-authority-data: (\S+)/.exec(readFileSync(kubeconfig, 'utf8'))?.[1];

const skipLoudly = (why: string): void => {
  process.stderr.write(`NOT CHECKED: a fresh clone: ${why}\n`);
};

describe('a fresh clone with an empty home', () => {
  let newcomer: Newcomer | undefined;

  beforeEach(() => {
    newcomer = undefined;
  });
  afterEach(() => newcomer?.leaves());

  const story = async (identity?: typeof ORDINARY): Promise<void> => {
    if (!existsSync(join(CHECKOUT, '.git'))) return skipLoudly('this is no git checkout');
    newcomer = new Newcomer(identity);
    await newcomer.clones();

    const first = await newcomer.starts(FIRST_START_TIMEOUT_MS);
    expect(first).toEqual({ code: 0, output: expect.stringContaining('The cluster demo is Ready.') });
    expect(first.output).toContain(newcomer.kubeconfig);
    const authority = authorityIn(newcomer.kubeconfig);
    expect(authority).toEqual(expect.any(String));
    expect(newcomer.leftovers()).toEqual([]);

    const second = await newcomer.starts(SECOND_START_TIMEOUT_MS);
    expect(second).toEqual({ code: 0, output: expect.stringContaining('The cluster demo is Ready.') });
    expect(second.output).not.toMatch(/installing the packages|building \.\.\./);
    // Another cluster would have another authority.
    expect(authorityIn(newcomer.kubeconfig)).toBe(authority);
    expect(newcomer.leftovers()).toEqual([]);
  };

  it(
    'becomes a Ready cluster by "npm start", leaves nothing running, and knows its cluster at the second start',
    () => story(),
    FIRST_START_TIMEOUT_MS + SECOND_START_TIMEOUT_MS,
  );

  it(
    'does so for an ordinary user, too',
    async () => {
      if (!isRoot) return skipLoudly('only root can become another ordinary user; the first story was told as one');
      await story(ORDINARY);
    },
    FIRST_START_TIMEOUT_MS + SECOND_START_TIMEOUT_MS,
  );
});
