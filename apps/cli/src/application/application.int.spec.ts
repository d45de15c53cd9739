import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApplicationView } from '../api/views.js';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const LIST = '/applications';
const GRAFANA = `${LIST}/grafana`;

const view = (changes: Partial<ApplicationView> = {}): ApplicationView => ({
  kind: 'Application',
  name: 'grafana',
  repository: 'https://charts.example.org',
  chart: 'grafana',
  range: '8.x',
  keep: 5,
  label: 'Grafana',
  description: '',
  icon: '',
  registeredTime: '2026-11-26T08:00:00.000Z',
  state: 'Synchronized',
  reason: '',
  message: '',
  changedTime: '2026-11-26T08:00:01.000Z',
  versions: [{ version: '8.5.1', digest: 'a'.repeat(64), appVersion: '11.2.0' }],
  ...changes,
});

let gateway: FakeGateway;
beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const application = (...args: readonly string[]): Promise<Ran> =>
  run(['--server', gateway.url, 'application', ...args]);
const register = (...more: readonly string[]): Promise<Ran> =>
  application(
    ...['register', 'grafana', '--repository', 'https://charts.example.org', '--chart', 'grafana'],
    ...['--versions', '8.x', ...more],
  );

describe('fairlead application', () => {
  it('register sends the settings and waits until it is synchronized', async () => {
    gateway.on('PUT', GRAFANA, { body: view({ state: 'Unknown', versions: [], changedTime: null }) });
    gateway.on('GET', GRAFANA, { body: view() });
    const { code, stdout } = await register('--label', 'Grafana');
    expect([code, gateway.asked('PUT', GRAFANA)[0]?.body]).toEqual([
      0,
      { repository: 'https://charts.example.org', chart: 'grafana', range: '8.x', keep: 5, label: 'Grafana' },
    ]);
    expect(stdout).toMatch(/grafana .* 8\.5\.1 .* synchronized\n/);
  });

  it('register sends only settings, whatever other options are given', async () => {
    gateway.on('PUT', GRAFANA, { body: view() });
    const { code, stdout } = await register('--output', 'json');
    expect([code, JSON.parse(stdout).name]).toEqual([0, 'grafana']);
    const [sent] = gateway.asked('PUT', GRAFANA);
    expect(Object.keys(sent?.body as object).toSorted()).toEqual(['chart', 'keep', 'range', 'repository']);
  });

  it('register reports that no version matches, and exits at once with --no-wait', async () => {
    const message = 'it has 7.3.0';
    gateway.on('PUT', GRAFANA, { body: view({ state: 'NotSynchronized', reason: 'NoMatchingVersion', message }) });
    const { code, stderr } = await register();
    expect([code === 0, stderr.includes('NoMatchingVersion'), stderr.includes(message)]).toEqual([false, true, true]);
    expect((await register('--no-wait')).code).toBe(0);
    expect((await register('--keep', '21')).code).not.toBe(0);
  });

  it('list and show print applications and the schema of a version, as text and as JSON', async () => {
    gateway.on('GET', LIST, { body: { kind: 'ApplicationList', items: [view()] } });
    gateway.on('GET', GRAFANA, { body: view() });
    const version = { kind: 'ApplicationVersion', application: 'grafana', ...view().versions[0] };
    gateway.on('GET', `${GRAFANA}/versions/8.5.1`, {
      body: { ...version, schema: { type: 'object' }, uiSchema: null },
    });
    expect(JSON.parse((await application('list', '--output', 'json')).stdout)).toEqual([view()]);
    expect((await application('get', 'grafana')).stdout).toContain('8.5.1 (11.2.0)');
    const shown = await application('get', 'grafana', '--chart-version', '8.5.1');
    expect(JSON.parse(shown.stdout)).toEqual({ type: 'object' });
  });

  it('sync and delete send the requests', async () => {
    const body = { kind: 'Status', code: 200, message: '' };
    gateway.on('POST', `${GRAFANA}/sync`, { status: 202, body });
    gateway.on('DELETE', GRAFANA, { body });
    expect((await application('sync', 'grafana')).code).toBe(0);
    expect((await application('delete', 'grafana', '--yes')).code).toBe(0);
    expect(gateway.asked('DELETE', GRAFANA)).toHaveLength(1);
  });

  it('has completion for its names', async () => {
    gateway.on('GET', LIST, { body: { kind: 'ApplicationList', items: [view()] } });
    const env = { FAIRLEAD_SERVER: gateway.url };
    expect((await run(['__complete', '--', 'application', 'get', ''], fakeIo({ env }))).stdout).toBe('grafana\n');
  });
});
