import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterView, FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const DEMO = '/ns/default/clusters/demo';
const SINCE = '2026-11-21T08:30:00.000Z';
const reasonOf = (state: string): readonly string[] => (state === 'Paused' ? ['PausedByUser'] : []);
const inState = (state: string) => ({
  status: 202,
  body: clusterView({
    status: { phase: 'Provisioned', state, reasons: reasonOf(state), reason: '', message: '' },
  }),
});

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const ask = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'cluster', ...args]);

describe.each([
  ['pause', 'Paused'],
  ['resume', 'Running'],
])('fairlead cluster %s', (action, state) => {
  it('sends the reason, and shows the resulting state', async () => {
    gateway.on('POST', `${DEMO}/${action}`, inState(state));
    const { code, stdout, stderr } = await ask(action, 'demo', '--reason', 'the provider is under maintenance');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')[1]).toMatch(new RegExp(`^demo +${state} +5/5 `, 'u'));
    const [asked] = gateway.asked('POST', `${DEMO}/${action}`);
    expect(asked?.body).toEqual({ reason: 'the provider is under maintenance' });
  });

  it('does not require a reason', async () => {
    gateway.on('POST', `${DEMO}/${action}`, inState(state));
    expect((await ask(action, 'demo')).code).toBe(0);
    expect(gateway.asked('POST', `${DEMO}/${action}`)[0]?.body).toEqual({ reason: '' });
  });

  it('prints the document of the cluster with --output json', async () => {
    gateway.on('POST', `${DEMO}/${action}`, inState(state));
    const { code, stdout } = await ask(action, 'demo', '--output', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ metadata: { name: 'demo' }, status: { state } });
  });

  it('exits with 5 for a cluster that does not exist', async () => {
    gateway.on('POST', `${DEMO}/${action}`, refusal(404, 'cluster.unknown', 'There is no cluster demo'));
    expect(await ask(action, 'demo')).toEqual({
      code: 5,
      stdout: '',
      stderr: 'Error: There is no cluster demo [cluster.unknown]\n  What can be done.\n',
    });
  });
});

describe('a paused cluster', () => {
  it('refuses its deletion, with advice that names the command to resume it', async () => {
    const message = `Unable to delete it. The cluster 'demo' has been paused since ${SINCE}.`;
    const help = 'Resume it first, with POST /ns/default/clusters/demo/resume.';
    gateway.on('DELETE', DEMO, refusal(409, 'cluster.paused', message, { help }));
    expect(await ask('delete', 'demo', '--yes')).toEqual({
      code: 6,
      stdout: '',
      stderr: `Error: ${message} [cluster.paused]\n  Resume it first, with "fairlead cluster resume demo".\n`,
    });
  });
});

describe('fairlead cluster retry-network', () => {
  it('requests another attempt, and shows the cluster', async () => {
    gateway.on('POST', `${DEMO}/network/retry`, { status: 200, body: clusterView() });
    const { code, stdout } = await ask('retry-network', 'demo');
    expect(code).toBe(0);
    expect(stdout).toContain('demo');
  });
});
