import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sample } from './operation.fixtures.js';
import { clusterView, FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { reachMoment } from '../spec/moment.fixtures.js';
import { Story } from '../spec/story.fixtures.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

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

const DEMO = '/ns/default/clusters/demo';

const reach = (moment: string): void => reachMoment(gateway, happening, moment);
describe('waiting', () => {
  const accepted = (path: string, method = 'POST', seq = 1): void => {
    gateway.on(method, path, { status: 202, headers: { 'x-fairlead-seq': String(seq) }, body: clusterView() });
  };
  const create = ['cluster', 'create', 'demo', '--connection', 'lab', '--machine-type', 's', '--wait'];

  it('prints progress line by line, and exits with 0 at the end', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const running = ask(create);
    await eventually(() => gateway.listeners === 1);
    reach('initialised');
    reach('ready');
    const { code, stdout, stderr } = await running;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^demo +Running +5\/5/m);
    expect(stderr).toContain('  demo  kubeadm init: done (demo-cp-1), 1.0s\n');
    expect(stderr.trimEnd().endsWith('demo  Ready')).toBe(true);
    await eventually(() => gateway.listeners === 0);
  });

  it('draws the tree on a terminal, and keeps its last state', async () => {
    accepted('/ns/default/clusters');
    reach('ready');
    const io = fakeIo({ isLive: true });
    expect((await ask(create, io)).code).toBe(0);
    expect(io.drawn().at(-1)?.split('\n')[0]).toMatch(/^✔ default\/demo {2}Ready, v1.34.4, took \d+s$/);
    expect(io.stderr()).toBe('');
  });

  it('continues after a lost connection: misses nothing, repeats nothing', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const running = ask(create);
    await eventually(() => gateway.listeners === 1);
    for (const moment of ['machines', 'hosts', 'initialised', 'joining', 'workers', 'ready']) {
      gateway.cutStreams();
      reach(moment); // While the client is disconnected.
      if (moment !== 'ready') await eventually(() => gateway.listeners === 1);
    }
    const { code, stderr } = await running;
    expect(code).toBe(0);
    const lines = stderr.trimEnd().split('\n');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.length).toBe(17);
  });

  it('tolerates a restart of the gateway: reports it, and continues', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const io = fakeIo();
    const running = ask(create, io);
    await eventually(() => gateway.listeners === 1);
    reach('machines');
    await eventually(() => io.stderr().includes('Shared resources: done'));
    await gateway.restart(async () => {
      await eventually(() => io.stderr().includes('The gateway has not answered since 2026-11-21T09:00:00.000Z'));
      reach('ready');
    });
    const { code, stdout, stderr } = await running;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^demo +Running +5\/5/m);
    expect(stderr).toMatch(/The gateway answers again after [\d.]+s\.\n/);
    const lines = stderr.trimEnd().split('\n');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.at(-1)).toMatch(/ demo {2}Ready$/);
  });

  it('fails at once if no gateway has ever answered', async () => {
    const { url } = gateway;
    await gateway.stop();
    const { code, stderr } = await run(['--server', url, ...create], fakeIo());
    await gateway.start();
    expect([code, stderr]).toEqual([3, expect.stringContaining(`No server answers at ${url}`)]);
    expect(stderr).not.toContain('continues');
  });

  it.each([
    ['Ctrl-C', 130, []],
    ['its time', 8, ['--timeout', '1s']],
  ] as const)(
    'ends at %s even while the gateway is unreachable, and states how to continue',
    async (_end, code, options) => {
      accepted('/ns/default/clusters');
      reach('requested');
      const io = fakeIo();
      const running = ask([...create, ...options], io);
      await eventually(() => gateway.listeners === 1);
      await gateway.restart(async () => {
        await eventually(() => io.stderr().includes('The gateway has not answered since'));
        if (code === 130) io.pressCtrlC();
        expect((await running).code).toBe(code);
      });
      expect(io.stderr()).toContain('he creation of demo continues on the server');
      expect(io.stderr()).toContain(
        'Come back with "fairlead cluster describe demo --watch", or wait for the end with "fairlead cluster wait demo".',
      );
    },
  );

  it("retries if the server's tables are late", async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const running = ask(create);
    await eventually(() => gateway.listeners === 1);
    let late = 2;
    gateway.on('GET', `${DEMO}/operations`, () => {
      late -= 1;
      if (late >= 0) return refusal(503, 'wait.too-long', 'They are late');
      return { body: { items: sample('ready').operations } };
    });
    gateway.on('GET', DEMO, { body: clusterView() });
    gateway.state(happening.at(100, 'ClusterReady').events.at(-1)!);
    expect((await running).code).toBe(0);
  });

  it('exits with 1 and the cause after a failure', async () => {
    accepted('/ns/default/clusters');
    reach('failed');
    const { code, stderr } = await ask(create);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'Error: kubeadm init on demo-cp-1 failed: timed out waiting for the condition [ControlPlaneInitFailed]',
    );
    expect(stderr).toContain('  Continue from the failed step: fairlead cluster retry demo\n');
    expect(stderr).toContain('  Delete the cluster: fairlead cluster delete demo\n');
  });

  describe('a failed creation with cleanup', () => {
    /** The creation has failed, and the deletion has this state. */
    const cleaned = (change: object | undefined): void => {
      const [creation] = sample('failed').operations;
      const deletion = { ...sample('deleted').operations.at(-1)!, seq: creation!.seq + 1, ...change };
      const items = change === undefined ? [creation] : [creation, deletion];
      gateway.on('GET', `${DEMO}/operations`, { body: { items } });
      gateway.on('GET', DEMO, { body: { ...sample('failed').cluster, onFailure: 'cleanup' } });
      gateway.state(happening.at(gateway.events.length, 'VmCreated').events.at(-1)!);
    };
    const CAUSE = 'kubeadm init on demo-cp-1 failed: timed out waiting for the condition';

    it('waits for the end of the cleanup, and exits with 1, the cause, and that everything is deleted', async () => {
      accepted('/ns/default/clusters');
      cleaned(undefined);
      const running = ask(create);
      await eventually(() => gateway.listeners === 1);
      cleaned({});
      const { code, stderr } = await running;
      expect(code).toBe(1);
      expect(stderr).toContain(`Error: ${CAUSE}`);
      expect(stderr).toContain('Everything that was created has been deleted (onFailure: cleanup)');
      expect(stderr).toContain('demo  Deleted');
    });

    it('reports if the cleanup fails, and if it exceeds the timeout', async () => {
      accepted('/ns/default/clusters');
      cleaned({ phase: 'Failed', reason: 'DeleteMachinesFailedReason', message: 'the provider does not answer' });
      const failed = await ask(create);
      expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(`Error: ${CAUSE}`)]);
      expect(failed.stderr).toContain('could not be deleted (onFailure: cleanup): the provider does not answer');
      cleaned(undefined);
      const late = await ask([...create, '--timeout', '1s']);
      expect([late.code, late.stderr]).toEqual([1, expect.stringContaining(`Error: ${CAUSE}`)]);
      expect(late.stderr).toContain('What was created is being deleted (onFailure: cleanup). Come back with');
    });
  });

  it('does not confuse the end of an earlier operation with its own', async () => {
    const { operations } = sample('deleted');
    const [creation, deletion] = operations;
    reach('ready');
    accepted(DEMO, 'DELETE', deletion!.seq);
    gateway.on('GET', `${DEMO}/operations`, ({ query }) => ({
      body: { items: Number(query['minSeq']) >= deletion!.seq ? operations : [creation] },
    }));
    const { code, stdout, stderr } = await ask(['cluster', 'delete', 'demo', '--yes', '--wait']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'The cluster demo is deleted; only its history is kept.\n',
    });
    expect(stderr).not.toContain('kubeadm init');
    expect(stderr.trimEnd().endsWith('demo  Deleted')).toBe(true);
  });

  it('exits with 8 at the timeout, and states that the server continues', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const { code, stderr } = await ask([...create, '--timeout', '200ms']);
    expect(code).toBe(8);
    expect(stderr).toContain('Not done within 0.2s: the creation of demo continues on the server');
  });

  it('exits with 8 even if garbage is collected while nothing happens', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const collecting = setInterval(collectGarbage, 100);
    try {
      expect((await ask([...create, '--timeout', '500ms'])).code).toBe(8);
    } finally {
      clearInterval(collecting);
    }
  });

  it('exits with 130 at Ctrl-C, and states that the server continues', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const io = fakeIo();
    const running = ask(create, io);
    await eventually(() => gateway.listeners === 1);
    io.pressCtrlC();
    expect(await running).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('Interrupted: The creation of demo continues on the server'),
    });
    expect(gateway.asked('DELETE', '/ns/default/clusters/demo')).toEqual([]);
  });
});

it('exits at Ctrl-C even while the server does not respond', async () => {
  gateway.on('GET', '/ns/default/clusters', () => 'never');
  const io = fakeIo();
  const running = ask(['cluster', 'list'], io);
  await eventually(() => gateway.received.length === 1);
  io.pressCtrlC();
  expect((await running).code).toBe(130);
});
