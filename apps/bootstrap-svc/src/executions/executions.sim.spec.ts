import type { Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { CALM, ROUGH, Simulation } from '../../test/simulation.js';
import { balanced, cp, created, machinesOf, requested, UID } from '../bootstrap/bootstrap.fixtures.js';
import { execRef } from '../kubernetes/cluster.access.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 40);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);
const REQUESTS = Array.from({ length: 6 }, (_, index) => `00000000-0000-4000-8000-0000000000${10 + index}`);

const asked = (requestId: string): Fact => ({
  type: 'NodeExecRequested',
  data: { uid: UID, requestId, node: cp(1), purpose: 'exec', command: ['touch', requestId], timeoutSeconds: 5 },
});

const followed = (requestId: string): Fact => ({
  type: 'NodeLogsFollowRequested',
  data: { uid: UID, requestId, node: cp(1), unit: 'kubelet', lines: 10 },
});

const initialized = async (seed: number): Promise<Simulation> => {
  const simulation = new Simulation(seed, CALM);
  await simulation.say('request', requested(1, 0));
  await simulation.say('machines', created(machinesOf(1, 0)), balanced);
  await simulation.run();
  return simulation;
};

/** The real code of bootstrap-svc from process to effects, with late and duplicate jobs, lost answers and crashes. */
describe("operators' commands with reordering and crashes", () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'seed %i: each is run at most once and ended once; it was run if it is recorded as finished',
    async (seed) => {
      const simulation = await initialized(seed);
      simulation.troubles = ROUGH;
      for (const requestId of REQUESTS) {
        await simulation.say('audit', asked(requestId));
        await simulation.run();
      }
      const { commands } = simulation.world.host(cp(1));
      for (const requestId of REQUESTS) {
        const ends = simulation.store.events.filter(
          ({ type, data }) =>
            (type === 'NodeExecFinished' || type === 'NodeExecFailed') &&
            'requestId' in data &&
            data.requestId === requestId,
        );
        const runs = commands.filter((line) => line.endsWith(requestId)).length;
        expect([seed, requestId, ends.length]).toEqual([seed, requestId, 1]);
        expect([seed, requestId, runs]).toEqual([
          seed,
          requestId,
          ends[0]?.type === 'NodeExecFinished' ? 1 : Math.min(runs, 1),
        ]);
        const isKept = simulation.secrets.values.has(execRef(requestId));
        expect([seed, requestId, isKept]).toEqual([seed, requestId, ends[0]?.type === 'NodeExecFinished']);
      }
    },
  );

  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'seed %i: a followed log continues at its position after a crash, and ends once',
    async (seed) => {
      const simulation = await initialized(seed);
      simulation.troubles = { ...ROUGH, lostRequest: 0, lostAnswer: 0 };
      for (const requestId of REQUESTS) await simulation.say('audit', followed(requestId));
      await simulation.run();
      for (const requestId of REQUESTS) {
        const lines = simulation.followed.get(requestId)?.map(({ text }) => Buffer.from(text, 'base64').toString());
        expect([seed, requestId, lines]).toEqual([seed, requestId, ['line 1\n', 'line 2\n', 'line 3\n']]);
      }
      const ends = simulation.store.events.filter(({ type }) => type === 'NodeLogsFollowEnded');
      expect(ends.map(({ data }) => 'reason' in data && data.reason)).toEqual(REQUESTS.map(() => 'reader-gone'));
      expect(JSON.stringify(simulation.store.events)).not.toContain(Buffer.from('line 2\n').toString('base64'));
    },
  );

  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'seed %i: none is run without a recorded start, whenever the cluster is deleted',
    async (seed) => {
      const simulation = await initialized(seed);
      simulation.troubles = ROUGH;
      for (const requestId of REQUESTS) await simulation.say('audit', asked(requestId));
      await simulation.run(simulation.below(60));
      await simulation.say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
      await simulation.run();
      const begun = simulation.store.events.flatMap((event) =>
        event.type === 'NodeExecStarted' ? [event.data.requestId] : [],
      );
      const run = simulation.world.host(cp(1)).commands.flatMap((line) => line.split(' ').slice(-1));
      expect([seed, run.filter((requestId) => !begun.includes(requestId))]).toEqual([seed, []]);
    },
  );

  it('a followed log on a lost host ends with the reason', async () => {
    const simulation = await initialized(1);
    simulation.troubles = { ...CALM, lostRequest: 1 };
    await simulation.say('audit', followed(REQUESTS[0]!));
    await simulation.run();
    const [end] = simulation.store.events.filter(({ type }) => type === 'NodeLogsFollowEnded');
    expect(end?.data).toMatchObject({
      reason: 'failed',
      bytes: 0,
      cause: { message: expect.stringContaining('lost') },
    });
  });

  it('are run while the cluster is paused, and their output is deleted in time', async () => {
    const simulation = await initialized(3);
    await simulation.say('request', { type: 'ClusterPaused', data: { uid: UID, reason: 'the provider is repaired' } });
    await simulation.say('audit', asked(REQUESTS[0]!));
    await simulation.run();
    expect([simulation.count('NodeExecFinished'), simulation.count('NodeExecFailed')]).toEqual([1, 0]);
    simulation.fireTimers();
    await simulation.run();
    expect(simulation.count('NodeExecOutputRemoved')).toBe(1);
  });

  it('have their output deleted after its time, and the log contains none of it', async () => {
    const simulation = await initialized(7);
    await simulation.say('audit', asked(REQUESTS[0]!));
    await simulation.run();
    expect(simulation.secrets.values.get(execRef(REQUESTS[0]!))?.value).toContain('b3V0');
    expect(JSON.stringify(simulation.store.events)).not.toContain('b3V0');
    simulation.fireTimers();
    await simulation.run();
    expect(simulation.count('NodeExecOutputRemoved')).toBe(1);
    expect(simulation.secrets.values.has(execRef(REQUESTS[0]!))).toBe(false);
  });
});
