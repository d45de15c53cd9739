import { expect, it } from '@jest/globals';
import { modelOf, w } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning, request } from '../../test/rollout.story.js';

it('workers lose the taint of an upgrade that is aborted after it failed to taint all of them', () => {
  const model = modelOf(1, 3, '1.33.13');
  const simulation = new RolloutSimulation(model, 0);
  for (const [context, fact] of beginning(model, '1.33.13')) simulation.say(context, fact);
  for (const id of ['op-01', 'op-02', 'op-03', 'op-04', 'op-05'])
    simulation.failing.set(`MarkWorkers/${id}`, 'the API did not answer for the last of them');
  simulation.when(
    ({ type }) => type === 'RolloutHalted',
    () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'enough' })),
  );
  simulation.say('request', asked({ kubernetes: 'v1.34.4' as never }));
  simulation.run();
  expect(simulation.count('NodesMarked')).toBe(0);
  expect(simulation.count('RolloutAborted')).toBe(1);
  const unmarked = simulation.log.flatMap((event) => (event.type === 'NodesUnmarked' ? [event.data.nodes] : []));
  expect(unmarked).toEqual([[w(1), w(2), w(3)]]);
});
