import { expect, it } from '@jest/globals';
import { modelOf, UID } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning } from '../../test/rollout.story.js';

/** Longer than any timeout of an operation. */
const PAUSE_S = 5 * 3_600;
const TARGET = { kubernetes: 'v1.34.4' as never };

const upgraded = (pausedAtStart: number | null): RolloutSimulation => {
  const model = modelOf(3, 2, '1.33.13');
  const simulation = new RolloutSimulation(model, 0);
  for (const [context, fact] of beginning(model, '1.33.13')) simulation.say(context, fact);
  let starts = 0;
  const isItsTurn = (type: string): boolean => type === 'OperationStarted' && (starts += 1) === pausedAtStart;
  simulation.when(
    ({ type }) => isItsTurn(type),
    () => {
      simulation.say('request', { type: 'ClusterPaused', data: { uid: UID, reason: '' } });
      simulation.after(PAUSE_S, () =>
        simulation.say('request', { type: 'ClusterResumed', data: { uid: UID, reason: '' } }),
      );
    },
  );
  simulation.say('request', asked(TARGET));
  simulation.run();
  return simulation;
};

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'an upgrade whose cluster is paused at its operation %i records nothing during the pause, and completes as without the pause [Cluster API 30]',
  (at) => {
    const { log } = upgraded(at);
    const [paused, resumed] = ['ClusterPaused', 'ClusterResumed'].map((type) =>
      log.findIndex((one) => one.type === type),
    );
    expect(paused).toBeGreaterThan(0);
    const meanwhile = log.slice(paused! + 1, resumed);
    // Work in progress records its outcome; no operation starts, ends or fails.
    expect(meanwhile.filter(({ type }) => /^Operation|^Rollout|^UpgradeAllowed/u.test(type))).toEqual([]);
    const types = log
      .map(({ type }) => type)
      .filter((type) => type === 'OperationCompleted' || /Failed|Halted/u.test(type));
    const expected = upgraded(null)
      .log.map(({ type }) => type)
      .filter((type) => type === 'OperationCompleted');
    expect(types).toEqual(expected);
    expect(log.at(-1)?.type).toMatch(/^(RolloutCompleted|NodesUnmarked|ProbesEnded)$/u);
  },
);
