import { errorCodeOf } from '@fairlead/contracts';
import type { HostProxy } from '@fairlead/contracts';
import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { access, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { proxyEnvironment } from '../../software/host.proxy.js';
import { isMissing } from '../files/real.files.js';
import type { CommandOptions, CommandResult, HostPort } from '../../node/host.ports.js';

const OUTPUT_LENGTH_MAX = 256 * 1024;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const NOT_STARTED = 127;
/** The unit of times in /proc on every architecture that Linux supports today (USER_HZ). */
const TICKS_PER_SECOND = 100;
/**
 * Index of the start time of the process, relative to the boot of the kernel, in /proc/<pid>/stat. Counted from the
 * state, which follows the name in parentheses.
 */
const START_FIELD = 19;

/** The kernel's limits of watches are reached. */
const UNWATCHABLE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EMFILE']);

const kill = (pid: number | undefined): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The group is gone already: that is what was desired.
    if (errorCodeOf(error) !== 'ESRCH') throw error;
  }
};

/**
 * The package manager, and ctr, which pulls from the registry itself, use the proxy. No others: kubeadm would write it
 * into static pods, and reach the API through it.
 */
const PROXIED: ReadonlySet<string> = new Set(['apt-get', 'ctr']);

const environmentOf = (command: string, proxy: HostProxy | undefined): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name))),
  ...(PROXIED.has(basename(command)) ? proxyEnvironment(proxy) : {}),
  // dpkg must not prompt, and messages must be in English.
  ...{ DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
});

const runWith = (
  proxy: HostProxy | undefined,
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> =>
  new Promise((resolve) => {
    const env = environmentOf(command, proxy);
    // A separate process group, so that a timeout also kills the command's children.
    const child = spawn(command, args, { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    const timer = setTimeout(() => kill(child.pid), options.timeoutMs);
    const finish = (code: number | null): void => {
      clearTimeout(timer);
      resolve({ code, ...output });
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout = (output.stdout + text).slice(-OUTPUT_LENGTH_MAX);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr = (output.stderr + text).slice(-OUTPUT_LENGTH_MAX);
    });
    child.on('error', (error) => {
      output.stderr += error.message;
      finish(NOT_STARTED);
    });
    child.on('close', finish);
    // A command that does not read its input closes it, which is not a failure of the command.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');
  });

const modifiedAt = async (path: string): Promise<Date | undefined> => {
  try {
    return (await stat(path)).mtime;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

/**
 * When the first process of this host started, also in a container with its own init. Computed from the current clock,
 * so that a clock that was set after the boot does no harm.
 */
const firstProcessStartedAt = async (): Promise<Date> => {
  const [uptime, first] = await Promise.all([readFile('/proc/uptime', 'utf8'), readFile('/proc/1/stat', 'utf8')]);
  const startedTicks = Number(first.slice(first.lastIndexOf(')') + 2).split(' ')[START_FIELD]);
  const agoSeconds = Number(uptime.split(' ')[0]) - startedTicks / TICKS_PER_SECOND;
  return new Date(Date.now() - agoSeconds * 1_000);
};

/** This machine. `root` is empty on a real host; a simulated host keeps all its files in its own folder. */
export const realHost = (root: string, proxy?: HostProxy): HostPort => {
  const run: HostPort['run'] = (command, args, options) => runWith(proxy, command, args, options);
  const at = (path: string): string => (root === '' ? path : join(root, path));
  const readText = async (path: string): Promise<string | undefined> => {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  };

  return {
    at,
    run,
    readFile: (path) => readText(at(path)),
    writeFile: async (path, text, mode) => {
      await mkdir(dirname(at(path)), { recursive: true });
      await writeFile(at(path), text, { mode, flush: true });
    },
    rename: (from, to) => rename(at(from), at(to)),
    exists: async (path) => {
      try {
        await access(at(path));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    },
    watch: async (folder, onChange) => {
      try {
        const watcher = watch(at(folder), { persistent: false }, onChange);
        watcher.on('error', onChange);
        return () => watcher.close();
      } catch (error) {
        if (isMissing(error) || UNWATCHABLE.has((error as NodeJS.ErrnoException).code)) return undefined;
        throw error;
      }
    },
    bootId: async () => ((await readText(at(BOOT_ID))) ?? (await readText(BOOT_ID)) ?? 'unknown').trim(),
    // A simulated host writes its boot ID at boot. A host without one has the boot ID of this machine and boots with
    // it.
    bootedAt: async () => (root === '' ? undefined : await modifiedAt(at(BOOT_ID))) ?? firstProcessStartedAt(),
    osRelease: async () => {
      const line = ((await readText(at('/etc/os-release'))) ?? '')
        .split('\n')
        .find((l) => l.startsWith('PRETTY_NAME='));
      return line === undefined ? 'unknown' : line.slice('PRETTY_NAME='.length).replaceAll('"', '');
    },
    kernel: async () => (await run('uname', ['-r'], { timeoutMs: 10_000 })).stdout.trim() || 'unknown',
  };
};
