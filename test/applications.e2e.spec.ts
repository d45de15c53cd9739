import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ApplicationView } from '@fairlead/contracts';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { chartOf, ChartServer } from '../apps/infra-svc/src/adapters/helm/chart.server.fixtures.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 120_000;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('an application of the catalogue', () => {
  const repository = new ChartServer();
  const folder = newFolder('applications');
  const authorities = join(folder, 'ca.pem');
  let system: System;

  const fairlead = async (...args: readonly string[]): Promise<Ran> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    const ran = run(process.execPath, [main, 'application', ...args], { env, timeout: 60_000 });
    return ran.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr }),
    );
  };
  const register = (range: string): Promise<Ran> =>
    fairlead(
      ...['register', 'grafana', '--repository', repository.url, '--repository-ca-file', authorities],
      ...['--chart', 'grafana', '--versions', range, '--keep', '3', '--output', 'json'],
    );
  const shown = async (): Promise<ApplicationView> =>
    JSON.parse((await fairlead('show', 'grafana', '--output', 'json')).stdout) as ApplicationView;
  const versions = async (): Promise<readonly string[]> => (await shown()).versions.map(({ version }) => version);
  const charts = new Map<string, Buffer>();
  /** A version has the same archive each time. */
  const publish = async (...published: readonly string[]): Promise<void> => {
    for (const version of published)
      if (!charts.has(version)) charts.set(version, await chartOf(`{"title":"${version}"}`));
    repository.publish(Object.fromEntries([...charts].filter(([version]) => published.includes(version))));
  };
  const downloads = (): readonly string[] => repository.asked.filter((url) => url.endsWith('.tgz'));

  beforeAll(async () => {
    await repository.start();
    writeFileSync(authorities, repository.ca);
    system = await startSystem({
      light: true,
      env: { CATALOGUE_ADDRESSES_ALLOWED: '127.0.0.0/8' },
    });
  }, TIMEOUT_MS);
  afterAll(async () => {
    await system?.stop();
    await repository.stop();
    removeFolder(folder);
  }, TIMEOUT_MS);

  it(
    'has the newest versions in its range, with their schemas [azimuth 33]',
    async () => {
      await publish('7.0.0', '8.0.0', '8.1.0', '8.2.0', '8.3.0', '9.0.0');
      const { code, stdout } = await register('8.x');
      expect([code, (JSON.parse(stdout) as ApplicationView).state]).toEqual([0, 'Synchronized']);
      expect(await versions()).toEqual(['8.3.0', '8.2.0', '8.1.0']);
      expect(JSON.parse((await fairlead('show', 'grafana', '--chart-version', '8.2.0')).stdout)).toEqual({
        title: '8.2.0',
      });
      expect(downloads()).toHaveLength(3);
    },
    TIMEOUT_MS,
  );

  it(
    'gets a new version on request, despite kill -9 of infra-svc, and downloads no known one again [azimuth 33]',
    async () => {
      await publish('8.1.0', '8.2.0', '8.3.0', '8.4.0');
      repository.hold('/grafana-8.4.0.tgz');
      expect((await fairlead('sync', 'grafana')).code).toBe(0);
      await eventually(downloads, (asked) => asked.includes('/grafana-8.4.0.tgz'));
      system.kill('infra-svc');
      repository.release();
      await eventually(versions, (found) => found.includes('8.4.0'), { withinMs: TIMEOUT_MS });
      expect(await versions()).toEqual(['8.4.0', '8.3.0', '8.2.0']);
      expect(downloads().filter((url) => url !== '/grafana-8.4.0.tgz')).toHaveLength(3);
    },
    TIMEOUT_MS,
  );

  it(
    'reports that no version matches and which ones exist, and is deleted [azimuth 33]',
    async () => {
      const { code, stdout, stderr } = await register('10.x');
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain('NoMatchingVersion');
      const { reason, message, versions: none } = await shown();
      expect([reason, none]).toEqual(['NoMatchingVersion', []]);
      expect(message).toContain('8.4.0, 8.3.0');
      expect((await fairlead('delete', 'grafana', '--yes')).code).toBe(0);
      expect(JSON.parse((await fairlead('list', '--output', 'json')).stdout)).toEqual([]);
      expect((await fairlead('show', 'grafana')).code).toBe(5);
    },
    TIMEOUT_MS,
  );
});
