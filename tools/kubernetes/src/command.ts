import { errorCodeOf } from '@fairlead/contracts';
import { spawn } from 'node:child_process';
import { Refusal } from './refusal.js';

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called with every line of standard error as it is written. */
  readonly onLine?: (line: string) => void;
}

const TAIL_LINES = 15;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Runs a program and returns its standard output. An error contains the end of its output. */
export const run = async (program: string, args: readonly string[], options: RunOptions = {}): Promise<string> => {
  const { promise, resolve, reject } = withResolvers<string>();
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const output: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > OUTPUT_BYTES_MAX) child.kill();
    else output.push(chunk);
  });
  const tail: string[] = [];
  eachLine(child.stderr, (line) => {
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    options.onLine?.(line);
  });
  child.on('error', (error) => reject(options.signal?.aborted === true ? options.signal.reason : error));
  child.on('close', (status, signal) => {
    if (status === 0) return resolve(Buffer.concat(output).toString('utf8'));
    const how = signal === null ? `exit code ${status}` : signal;
    reject(new Refusal(`${program} ${args.slice(0, 2).join(' ')} failed (${how}):\n${tail.join('\n')}`));
  });
  return promise;
};

const withResolvers = <Value>() => {
  let settle: { resolve: (value: Value) => void; reject: (reason: unknown) => void } | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  if (settle === undefined) throw new Error('a promise calls its executor at once');
  return { promise, ...settle };
};

const eachLine = (stream: NodeJS.ReadableStream, onLine: (line: string) => void): void => {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(onLine);
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
};

/** Whether the PATH has this program. */
export const has = async (program: string, versionFlag = '--version'): Promise<boolean> => {
  try {
    await run(program, [versionFlag]);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return false;
    return error instanceof Refusal;
  }
};
