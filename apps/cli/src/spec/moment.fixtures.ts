import { sample } from '../progress/operation.fixtures.js';
import { refusal, type FakeGateway } from './gateway.fixtures.js';
import type { Story } from './story.fixtures.js';

const DEMO = '/ns/default/clusters/demo';

/** The gateway answers for the cluster demo as it does at a moment of its life, and listeners are notified that something happened. */
export const reachMoment = (gateway: FakeGateway, story: Story, moment: string): void => {
  const { cluster, operations } = sample(moment);
  gateway.on('GET', `${DEMO}/operations`, { body: { items: operations } });
  gateway.on('GET', DEMO, cluster === null ? refusal(404, 'cluster.unknown', 'There is none') : { body: cluster });
  gateway.on('GET', `${DEMO}/upgrades`, { body: { items: [] } });
  gateway.state(story.at(gateway.events.length, 'VmCreated').events.at(-1)!);
};
