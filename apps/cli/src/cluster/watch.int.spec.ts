import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sample } from '../progress/operation.fixtures.js';
import { FakeGateway, clusterView, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { reachMoment } from '../spec/moment.fixtures.js';
import { Story } from '../spec/story.fixtures.js';

const DEMO = '/ns/default/clusters/demo';

let gateway: FakeGateway;
let happening: Story;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  happening = new Story();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);

const reach = (moment: string): void => reachMoment(gateway, happening, moment);

/** Sets the present state of the cluster, in addition to the recorded moment. */
const be = (change: object): void => void gateway.on('GET', DEMO, { body: { ...sample('ready').cluster, ...change } });

const PROVISIONING = {
  status: { phase: 'Provisioning', state: 'Provisioning', reasons: [], reason: '', message: '' },
};

describe('cluster wait', () => {
  it('waits on any terminal until the cluster is Ready, whoever created it', async () => {
    reach('machines');
    be(PROVISIONING);
    const running = ask(['cluster', 'wait', 'demo']);
    await eventually(() => gateway.listeners === 1);
    reach('ready');
    const { code, stdout, stderr } = await running;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^demo +Running/m)]);
    expect(stderr).toContain('demo  Shared resources: done');
  });

  it('for HookBlocked=False ends at once where no hook is declared', async () => {
    reach('ready');
    expect((await ask(['cluster', 'wait', 'demo', '--for', 'HookBlocked=False'])).code).toBe(0);
  });

  it('exits at once if the goal is already reached', async () => {
    reach('ready');
    expect((await ask(['cluster', 'wait', 'demo'])).code).toBe(0);
    expect(gateway.received.filter(({ path }) => path.endsWith('/stream')).length).toBeLessThanOrEqual(1);
  });

  it('exits with 1, the cause and advice if the creation has failed', async () => {
    reach('failed');
    be({ status: { phase: 'Failed', state: 'Failed', reasons: [], reason: 'X', message: 'kubeadm init failed' } });
    const { code, stderr } = await ask(['cluster', 'wait', 'demo']);
    expect(code).toBe(1);
    expect(stderr).toContain('Error: The cluster demo has failed: kubeadm init on demo-cp-1 failed');
    expect(stderr).toContain('  Continue from the failed step: fairlead cluster retry demo');
  });

  it('waits for the end of a deletion, and succeeds if there is no such cluster', async () => {
    reach('deleting');
    be({});
    const running = ask(['cluster', 'wait', 'demo', '--for', 'deleted']);
    await eventually(() => gateway.listeners === 1);
    reach('deleted');
    gateway.on('GET', DEMO, refusal(404, 'cluster.unknown', 'There is none'));
    expect(await running).toMatchObject({ code: 0, stdout: 'The cluster demo is deleted.\n' });
    gateway.on('GET', `${DEMO}/operations`, refusal(404, 'cluster.unknown', 'There is none'));
    expect(await ask(['cluster', 'wait', 'demo', '--for', 'deleted'])).toMatchObject({
      code: 0,
      stdout: 'There is no cluster demo in the namespace default, and there was none: nothing to wait for.\n',
    });
  });

  it('exits with 5 if the cluster is deleted while the command waits for Ready', async () => {
    reach('deleted');
    gateway.on('GET', DEMO, refusal(404, 'cluster.unknown', 'There is none'));
    expect(await ask(['cluster', 'wait', 'demo'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('The cluster demo is deleted, and will not be Ready'),
    });
  });

  it('waits for a condition by name', async () => {
    reach('ready');
    const condition = (status: string) => ({
      conditions: [
        { type: 'HookBlocked', status, reason: '', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    });
    be(condition('True'));
    const running = ask(['cluster', 'wait', 'demo', '--for', 'condition=hookblocked=false']);
    await eventually(() => gateway.listeners === 1);
    be(condition('False'));
    gateway.state(happening.at(100, 'VmCreated').events.at(-1)!);
    expect((await running).code).toBe(0);
    expect(await ask(['cluster', 'wait', 'demo', '--for', 'NodeReady'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean NodesReady'),
    });
  });

  it('exits with 8 after its timeout, and names the command to continue', async () => {
    reach('machines');
    be(PROVISIONING);
    const { code, stderr } = await ask(['cluster', 'wait', 'demo', '--timeout', '200ms']);
    expect(code).toBe(8);
    expect(stderr).toContain('Wait again with "fairlead cluster wait demo"');
    const other = await ask(['cluster', 'wait', 'demo', '--for', 'nodesready=false', '--timeout', '200ms']);
    expect(other.stderr).toContain('Wait again with "fairlead cluster wait demo --for NodesReady=False"');
  });
});

describe('cluster describe --watch', () => {
  it('draws the cluster until Ctrl-C, also across a restart of the gateway', async () => {
    reach('machines');
    be({});
    const io = fakeIo({ isLive: true });
    const running = ask(['cluster', 'describe', 'demo', '--watch'], io);
    await eventually(() => io.drawn().some((frame) => frame.includes('Create machines')));
    await gateway.restart(() => eventually(() => io.stderr().includes('The gateway has not answered since')));
    reach('ready');
    await eventually(() => io.drawn().at(-1)?.startsWith('✔ default/demo  Ready') === true);
    io.pressCtrlC();
    const { code, stderr } = await running;
    expect(code).toBe(130);
    expect(stderr).toContain('Watch it again with "fairlead cluster describe demo --watch".');
  });

  it('exits when the cluster is deleted', async () => {
    reach('deleting');
    be({});
    const running = ask(['cluster', 'describe', 'demo', '-w']);
    await eventually(() => gateway.listeners === 1);
    reach('deleted');
    gateway.on('GET', DEMO, refusal(404, 'cluster.unknown', 'There is none'));
    expect((await running).code).toBe(0);
  });
});

describe('cluster get', () => {
  it('shows what a deletion waits for, the attempt, and advice', async () => {
    const deletion = sample('hooked-again').operations.at(-1)!;
    const { steps, nextActions } = deletion;
    be({
      status: { phase: 'Deleting', state: 'Deleting', reasons: [], reason: '', message: '' },
      progress: {
        operation: 'delete',
        currentStep: 'dismantle',
        title: 'Stop',
        nodesReady: 5,
        nodesTotal: 5,
        steps,
        nextActions,
      },
    });
    const { stdout } = await ask(['cluster', 'get', 'demo']);
    expect(stdout).toContain('the hook backup (BeforeClusterDelete) failed: it answered with HTTP 500 (attempt 2, ');
    expect(stdout).toContain('  Continue without the hook: fairlead hook skip demo backup --point BeforeClusterDelete');
  });

  it('prints one line for a Running cluster', async () => {
    be({});
    expect((await ask(['cluster', 'get', 'demo'])).stdout.trimEnd().split('\n')).toHaveLength(2);
  });
});

describe('cluster list --watch', () => {
  it('prints changes until Ctrl-C', async () => {
    gateway.on('GET', '/ns/default/clusters', { body: { items: [clusterView({ name: 'one' })] } });
    const io = fakeIo();
    const running = ask(['cluster', 'list', '--watch'], io);
    await eventually(() => io.stdout().includes('one'));
    gateway.on('GET', '/ns/default/clusters', {
      body: { items: [clusterView({ name: 'one' }), clusterView({ name: 'two' })] },
    });
    await eventually(() => io.stdout().includes('two'));
    io.pressCtrlC();
    expect(await running).toMatchObject({ code: 130, stderr: '' });
    expect(io.stdout().match(/^one /gm)).toHaveLength(1);
  });
});
