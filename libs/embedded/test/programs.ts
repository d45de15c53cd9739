import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../src/process/command.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const BUNDLE_TIMEOUT_MS = 30_000;
/** CommonJS packages in an ES module bundle call `require`. */
const BANNER =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";

/**
 * A program of a test, to be run in another process or as another user: bundled into one file that everyone may read.
 */
export const bundleProgram = async (source: string): Promise<{ file: string; remove(): void }> => {
  const folder = newFolder('program');
  chmodSync(folder, 0o755);
  const [entry, file] = [join(folder, 'program.ts'), join(folder, 'program.mjs')];
  writeFileSync(entry, source.replaceAll('@embedded', join(ROOT, 'libs/embedded/src/index.ts')));
  const alias = `--alias:@fairlead/contracts=${join(ROOT, 'libs/contracts/src/index.ts')}`;
  const options = [
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--external:pg-native',
    `--banner:js=${BANNER}`,
    alias,
  ];
  const result = await runCommand(join(ROOT, 'node_modules/.bin/esbuild'), [entry, ...options, `--outfile=${file}`], {
    timeoutMs: BUNDLE_TIMEOUT_MS,
    cwd: ROOT,
    env: { ...process.env, NODE_PATH: join(ROOT, 'node_modules') },
  });
  if (result.code !== 0) throw new Error(`the test's program cannot be bundled: ${result.stderr}`);
  return { file, remove: () => removeFolder(folder) };
};

/** A running program of a test: its output, line by line, and its exit. */
export class Program {
  readonly process: ChildProcess;
  readonly ended: Promise<{ code: number | null; output: string }>;
  private output = '';

  constructor(file: string, options: { args?: string[]; env?: NodeJS.ProcessEnv; uid?: number; gid?: number } = {}) {
    const { args = [], ...rest } = options;
    this.process = spawn(process.execPath, [file, ...args], { ...rest, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ended = new Promise((resolve) => this.process.once('close', (code) => resolve({ code, output: this.output })));
  }

  get said(): string {
    return this.output;
  }
}

const argumentsOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // It ended meanwhile.
  }
};

/** Numbers of processes whose command line contains that text; a zombie has none. A minimal Debian has no ps. */
export const processesNaming = async (text: string): Promise<readonly number[]> => {
  if (existsSync('/proc/self/cmdline'))
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(text))
      .map(Number);
  const { stdout } = await runCommand('ps', ['-eo', 'pid=,args='], { timeoutMs: 5_000 });
  return stdout
    .split('\n')
    .filter((line) => line.includes(text) && !line.includes('ps -eo'))
    .map((line) => Number.parseInt(line, 10));
};

export const readText = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
