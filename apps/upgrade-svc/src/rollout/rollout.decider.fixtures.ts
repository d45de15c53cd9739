import { modelOf, type Model } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { beginning, toVersion } from '../../test/rollout.story.js';

export const cluster = (model: Model = modelOf(1, 3, '1.33.13')): RolloutSimulation => {
  const simulation = new RolloutSimulation(model);
  for (const [context, fact] of beginning(model, '1.33.13')) simulation.say(context, fact);
  return simulation;
};

export const toNext = toVersion('v1.34.4');

export const data = (simulation: RolloutSimulation, type: string) =>
  simulation.log.find((event) => event.type === type)?.data;
