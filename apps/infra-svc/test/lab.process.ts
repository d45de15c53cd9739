import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const LAB_PROGRAM = join(process.cwd(), 'apps/lab/dist/main.js');
const START_TIMEOUT_MS = 30_000;

export const LAB_TOKEN = 'token-of-the-lab';

export interface LabFault {
  readonly kind: 'boot-failure' | 'boot-slow' | 'quota' | 'reservation-denied' | 'api-slow';
  readonly machine?: string;
  readonly message?: string;
  readonly delayMs?: number;
  readonly times?: number;
}

/** A separate lab for a spec: a real process of apps/lab, light and without delays. */
export interface LabProcess {
  readonly endpoint: string;
  faults(items: readonly LabFault[]): Promise<void>;
  /** How often each resource was created since the lab started, by `<kind>/<name>`. */
  created(): Promise<Readonly<Record<string, number>>>;
  /** The current number of resources. */
  now(): Promise<{ readonly machines: number; readonly loadBalancers: number }>;
  /** Stops the process and keeps its data. */
  halt(): Promise<void>;
  /** Starts it again with the same port and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const ready = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the lab does not get ready')), START_TIMEOUT_MS);
    const errors: string[] = [];
    child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
    child.once('exit', () => {
      clearTimeout(timer);
      reject(new Error(`the lab ended: ${errors.join('')}`));
    });
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const port = /^FAIRLEAD READY lab (\d+)$/.exec(line)?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      resolve(Number(port));
    });
  });

const exited = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });

export const startLab = async (): Promise<LabProcess> => {
  if (!existsSync(LAB_PROGRAM)) throw new Error(`${LAB_PROGRAM} is missing: run "npm run build" first`);
  const data = newFolder('lab');
  let child: ChildProcess | undefined;
  let port = 0;
  const launch = async (): Promise<void> => {
    child = spawn(
      process.execPath,
      [LAB_PROGRAM, '--data', data, '--port', String(port), '--light', '--delays', 'none'],
      { env: { ...process.env, LAB_TOKEN, NODE_OPTIONS: '' }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    try {
      port = await ready(child);
    } catch (error) {
      await exited(child);
      throw error;
    }
  };
  await launch();
  const endpoint = `http://127.0.0.1:${port}`;
  const call = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const answer = await fetch(new URL(path, endpoint), {
      method,
      headers: { authorization: `Bearer ${LAB_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const stats = async () =>
    (await (await call('GET', '/v1/stats')).json()) as {
      names: Record<string, number>;
      now: { machines: number; loadBalancers: number };
    };
  return {
    endpoint,
    faults: async (items) => {
      await call('PUT', '/v1/faults', { items });
    },
    created: async () => (await stats()).names,
    now: async () => (await stats()).now,
    halt: () => exited(child!),
    restart: launch,
    stop: async () => {
      await exited(child!);
      removeFolder(data);
    },
  };
};
