import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { Story, WORKERS } from '../spec/story.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);

describe('events', () => {
  it('follow prints one line of JSON per event, until Ctrl-C, which ends it with 130 and without words', async () => {
    const story = new Story().requested(0).at(1, 'ClusterAccepted').events;
    gateway.state(...story.slice(0, 1));
    const io = fakeIo();
    const running = ask(['events', 'demo', '--follow', '--since', '0', '-o', 'json'], io);
    await eventually(() => gateway.listeners === 1 && io.stdout() !== '');
    gateway.state(...story.slice(1));
    await eventually(() => io.stdout().split('\n').length === 3);
    io.pressCtrlC();
    const { code, stdout, stderr } = await running;
    expect(code).toBe(130);
    expect(stderr).toBe('Waiting for new events of demo (Ctrl-C ends it) ...\n');
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type),
    ).toEqual(['ClusterRequested', 'ClusterAccepted']);
  });

  it('follow starts now by default: it prints no earlier events', async () => {
    const story = new Story().requested(0).at(1, 'ClusterAccepted').at(2, 'VmsPlanned').events;
    gateway.state(...story.slice(0, 2));
    const types = async (...options: readonly string[]): Promise<string> => {
      const io = fakeIo();
      const running = ask(['events', 'demo', '--follow', ...options, '-o', 'name'], io);
      await eventually(() => gateway.listeners === 1);
      if (!gateway.events.includes(story[2]!)) gateway.state(story[2]!);
      await eventually(() => io.stdout().endsWith('VmsPlanned\n') || options[1] === '1');
      io.pressCtrlC();
      await eventually(() => gateway.listeners === 0);
      return (await running).stdout;
    };
    expect(await types()).toBe('VmsPlanned\n');
    expect(await types('--tail', '2')).toBe('ClusterAccepted\nVmsPlanned\n');
  });

  it('tail prints the latest events', async () => {
    gateway.state(...new Story().requested(0).at(1, 'ClusterAccepted').at(2, 'VmsPlanned').events);
    expect(await typesOf('--tail', '2')).toEqual(['ClusterAccepted', 'VmsPlanned']);
  });

  const typesOf = async (...options: readonly string[]): Promise<readonly string[]> =>
    (await ask(['events', 'demo', ...options, '-o', 'name'])).stdout.trimEnd().split('\n');

  it('since omits events up to a sequence', async () => {
    gateway.state(...new Story().requested(0).at(1, 'ClusterAccepted').events);
    expect(await typesOf('--since', '101')).toEqual(['ClusterAccepted']);
  });

  it('since a time or a duration omits older events', async () => {
    gateway.state(...new Story().requested(0).at(3_600, 'ClusterAccepted').events);
    const [first, second] = gateway.events.map(({ time }) => Date.parse(time));
    expect(second! - first!).toBeGreaterThan(1_000);
    expect(await typesOf('--since', new Date(first! + 1_000).toISOString())).toEqual(['ClusterAccepted']);
    const io = fakeIo({ nowMs: second! + 60_000 });
    expect((await ask(['events', 'demo', '--since', '2m', '-o', 'name'], io)).stdout).toBe('ClusterAccepted\n');
    expect((await ask(['events', 'demo', '--since', 'foo'])).stderr).toContain(
      'Give a sequence of the log like 4711, a time like 2026-11-21T08:00:00Z, or a duration like 15m.',
    );
  });

  it('of some types are filtered by the gateway', async () => {
    gateway.state(...new Story().requested(0).at(1, 'ClusterAccepted').events);
    await typesOf('--type', 'ClusterAccepted', '--type', 'NodeLost');
    expect(gateway.asked('GET', '/ns/default/clusters/demo/events')[0]?.query).toMatchObject({
      type: 'ClusterAccepted,NodeLost',
    });
  });

  it('of a node that the cluster never had are refused, with similar names', async () => {
    const removed = 'demo-w-9-zzzzz';
    const nodes = [{ name: WORKERS[0] }, { name: WORKERS[1] }];
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { kind: 'NodeList', items: nodes } });
    gateway.state(...new Story().requested(0).at(1, 'NodeRemoved', { node: removed }).events);
    const typo = `${WORKERS[0]!.slice(0, -1)}_`;
    for (const more of [[], ['--follow'], ['--since', '1h']]) {
      const { code, stdout, stderr } = await ask(['events', 'demo', '--node', typo, ...more]);
      expect([code, stdout, stderr.split('\n')[0]]).toEqual([
        ...[5, ''],
        `Error: The cluster demo has no node ${typo}, and had none`,
      ]);
      expect(stderr).toContain(`Did you mean ${WORKERS[0]}`);
    }
    const begun = WORKERS[0]!.slice(0, WORKERS[0]!.lastIndexOf('-'));
    for (const like of [begun, `${begun}-other`])
      expect((await ask(['events', 'demo', '--node', like])).stderr).toContain(`Did you mean ${WORKERS[0]}`);
    expect((await ask(['events', 'demo', '--node', 'other'])).stderr).toContain('"fairlead node list demo" lists');
    expect((await ask(['events', 'demo', '--node', WORKERS[1]!])).stdout).toBe('There are no events.\n');
    expect((await ask(['events', 'demo', '--node', removed, '-o', 'name'])).stdout).toBe('NodeRemoved\n');
  });

  it('of a node include those that it reported and those that name it', async () => {
    gateway.state(
      ...new Story()
        .requested(0)
        .at(1, 'VmCreated', { machine: { name: WORKERS[0] } })
        .at(2, 'NodeReady', { node: WORKERS[1] }).events,
    );
    expect(await typesOf('--node', WORKERS[0])).toEqual(['VmCreated']);
    expect(await typesOf('--node', WORKERS[1])).toEqual(['NodeReady']);
  });
});
