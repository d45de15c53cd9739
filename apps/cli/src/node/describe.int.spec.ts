import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';
import { Story, WORKERS } from '../spec/story.fixtures.js';

const DEMO = '/ns/default/clusters/demo';
const [NODE, OTHER] = WORKERS;
const node = {
  ...{ kind: 'Node', name: NODE, role: 'worker', pool: 'web', leader: false, phase: 'NotReady', stage: 'ready' },
  ...{ ready: false, reason: 'its agent was not heard for 40 s', changedAt: '2026-11-21T09:00:00.000Z' },
  ...{ spec: 'lab.medium', connection: 'lab', csp: 'lab', createdTime: '2026-11-21T08:00:00.000Z' },
  ...{ publicIp: '127.0.0.9', privateIp: '127.0.0.9', cspLabel: '', zoneLabel: 'topology.kubernetes.io/zone=lab-1a' },
  regionLabel: '',
  software: { kubelet: '1.34.4', containerd: '1.7.24' },
  updatesDisabled: 'the pool is held',
  cordon: { since: '2026-11-21T08:30:00.000Z', actor: 'user/ada', reason: 'a disk is exchanged' },
  remediation: 'is rebooted at 09:05',
};

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const describeNode = (name: string, ...more: readonly string[]): Promise<Ran> =>
  run(['--server', gateway.url, 'node', 'describe', 'demo', name, ...more]);

describe('fairlead node describe', () => {
  it('prints the properties of a node, its state, and its latest events', async () => {
    gateway.on('GET', `${DEMO}/nodes/${NODE}`, { body: node });
    const story = new Story().requested(0).at(1, 'NodeReady', { node: OTHER });
    for (let second = 2; second < 14; second += 1) story.at(second, 'NodeReady', { node: NODE });
    gateway.state(...story.events);
    const { code, stdout } = await describeNode(NODE);
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 12)).toEqual([
      `${NODE} of default/demo`,
      '  state         NotReady: its agent was not heard for 40 s (last event 2026-11-21T09:00:00.000Z)',
      '  role          worker',
      '  pool          web',
      '  machine type  lab.medium of the connection lab (lab), since 2026-11-21T08:00:00.000Z',
      '  addresses     127.0.0.9',
      '  labels        topology.kubernetes.io/zone=lab-1a',
      '  software      kubelet 1.34.4, containerd 1.7.24',
      '  updates       disabled: the pool is held',
      '  cordon        since 2026-11-21T08:30:00.000Z by user/ada: a disk is exchanged',
      '  health check  is rebooted at 09:05',
      '  latest events',
    ]);
    const events = stdout.trimEnd().split('\n').slice(12);
    expect(events).toHaveLength(10);
    expect(events.at(-1)).toContain('114  2026-11-21T08:00:13.000Z  NodeReady');
  });

  it('prints all addresses of a node with their types [azimuth 21]', async () => {
    const addresses = [
      { type: 'InternalIP', address: '10.0.0.9' },
      { type: 'ExternalIP', address: '198.51.100.9' },
      { type: 'VirtualIP', address: '198.18.7.5' },
    ];
    gateway.on('GET', `${DEMO}/nodes/${NODE}`, { body: { ...node, addresses } });
    gateway.state(...new Story().requested(0).events);
    expect((await describeNode(NODE)).stdout).toContain(
      '\n  addresses     10.0.0.9 (InternalIP), 198.51.100.9 (ExternalIP), 198.18.7.5 (VirtualIP)\n',
    );
  });

  it('exits with 5 for a node that does not exist', async () => {
    gateway.on('GET', `${DEMO}/nodes/nobody`, refusal(404, 'node.unknown', 'There is none'));
    expect((await describeNode('nobody')).code).toBe(5);
  });
});
