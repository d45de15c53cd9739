import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, freePorts, LOOPBACK } from '@fairlead/embedded';
import { provideDebianTree } from '@fairlead/embedded/apt';
import { eventually } from '@fairlead/testing';

const PLACES = ['/usr/bin', '/usr/local/bin'];
const READY_MS = 60_000;

/** Prometheus of this machine, or Debian's, unpacked into the cache without installing it. */
export interface Prometheus {
  readonly server: string;
  readonly promtool: string;
}

const inFolder = (folder: string): Prometheus => ({
  server: join(folder, 'prometheus'),
  promtool: join(folder, 'promtool'),
});

/** Resolves to the reason if there is none, and says so on the terminal: what is not checked is not passed. */
export const findPrometheus = async (): Promise<Prometheus | { readonly reason: string }> => {
  const found = PLACES.find((folder) => existsSync(join(folder, 'prometheus')) && existsSync(join(folder, 'promtool')));
  if (found !== undefined) return inFolder(found);
  const tree = join(cacheFolder(process.env, '.fairlead'), 'prometheus');
  const reasons = await provideDebianTree(['prometheus'], tree);
  if (reasons.length === 0) return inFolder(join(tree, 'usr/bin'));
  process.stderr.write(`\n!!! NOT CHECKED by prometheus: ${reasons.join('; ')}\n\n`);
  return { reason: reasons.join('; ') };
};

/** Runs promtool in a folder; returns its output, also that of a failure. */
export const promtool = (
  { promtool: program }: Prometheus,
  args: readonly string[],
  cwd: string,
): { readonly code: number | null; readonly output: string } => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  return { code: status, output: `${stdout}${stderr}` };
};

export interface Alert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface RunningPrometheus {
  alerts(): Promise<readonly Alert[]>;
  /** The health of each rule, by name. */
  rules(): Promise<Readonly<Record<string, string>>>;
  /** The series that a metric has. */
  count(query: string): Promise<number>;
  stop(): Promise<void>;
}

export interface PrometheusOptions {
  readonly folder: string;
  /** The text of a file of rules. */
  readonly rules: string;
  readonly targets: readonly string[];
}

const configOf = (targets: readonly string[]): string =>
  JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'fairlead', static_configs: [{ targets }] }],
  });

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once('exit', () => resolve());
  });

/** A server that scrapes and evaluates every second. */
export const startPrometheus = async (
  { server }: Prometheus,
  { folder, rules, targets }: PrometheusOptions,
): Promise<RunningPrometheus> => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'rules.yaml'), rules);
  writeFileSync(join(folder, 'prometheus.yaml'), configOf(targets));
  const [port = 0] = await freePorts(join(folder, 'ports'), 1);
  const child = spawn(
    server,
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${LOOPBACK}:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let words = '';
  child.stderr?.on('data', (data: Buffer) => {
    words = `${words}${data.toString('utf8')}`.slice(-2_000);
  });
  const base = `http://${LOOPBACK}:${port}`;
  const ask = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(`${base}/api/v1/${path}`);
    if (!response.ok) throw new Error(`Prometheus answers ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { readonly data: Data }).data;
  };
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${words}`);
    return fetch(`${base}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await eventually(isReady, (ready) => ready, { withinMs: READY_MS, what: 'a Prometheus that is ready' });
  return {
    alerts: async () => (await ask<{ alerts: readonly Alert[] }>('alerts')).alerts,
    rules: async () => {
      type Rule = { readonly name: string; readonly health: string };
      const { groups } = await ask<{ groups: readonly { readonly rules: readonly Rule[] }[] }>('rules');
      return Object.fromEntries(groups.flatMap((group) => group.rules.map(({ name, health }) => [name, health])));
    },
    count: async (query) =>
      (await ask<{ result: readonly unknown[] }>(`query?query=${encodeURIComponent(query)}`)).result.length,
    stop: async () => {
      child.kill('SIGTERM');
      await ended(child);
    },
  };
};
