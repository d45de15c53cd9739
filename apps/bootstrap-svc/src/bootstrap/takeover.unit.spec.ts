import type { ClusterUid, Fact, NodeName } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap } from './bootstrap.decider.js';
import { cp, desiredAfter, requested, UID, w, wholeCluster } from './bootstrap.fixtures.js';

const { given } = specification(bootstrap);
const HANDOVER = '0b8f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e11';
const ANOTHER = '0b8f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e12';
const takeOver = (handover = HANDOVER, uid = UID) =>
  ({ type: 'TakeOverCluster', data: { uid, handover, epoch: 2 } }) as const;
const takenOver: Fact<'ClusterTakenOver'> = {
  type: 'ClusterTakenOver',
  data: { uid: UID, handover: HANDOVER, epoch: 2 },
};
const switched = (node: NodeName): Fact<'AgentTakenOver'> => ({ type: 'AgentTakenOver', data: { uid: UID, node } });
const nodes = [cp(1), cp(2), cp(3), w(1), w(2)];

describe('a cluster whose installation was taken over', () => {
  it('is recorded once per handover, and only for the same incarnation', () => {
    given(...wholeCluster())
      .when(takeOver())
      .then(takenOver);
    given(...wholeCluster(), takenOver)
      .when(takeOver())
      .thenNothing();
    given(...wholeCluster(), takenOver)
      .when(takeOver(ANOTHER))
      .then({ ...takenOver, data: { ...takenOver.data, handover: ANOTHER } });
    given(...wholeCluster())
      .when(takeOver(HANDOVER, ANOTHER as ClusterUid))
      .thenNothing();
  });

  it('switches the agent of every node, once each', () => {
    const all = nodes.map((node) => `TakeOverAgent/${node}`);
    expect(desiredAfter(...wholeCluster())).toEqual([]);
    expect(desiredAfter(...wholeCluster(), takenOver)).toEqual(all);
    expect(desiredAfter(...wholeCluster(), takenOver, switched(cp(2)))).toEqual(
      all.filter((key) => !key.endsWith(cp(2))),
    );
    expect(desiredAfter(...wholeCluster(), takenOver, ...nodes.map(switched))).toEqual([]);
    given(...wholeCluster(), takenOver)
      .when(switched(w(1)))
      .then(switched(w(1)));
    given(...wholeCluster(), takenOver, switched(w(1)))
      .when(switched(w(1)))
      .thenNothing();
  });

  it('has nothing to switch if no agent was started', () =>
    expect(desiredAfter(requested(3, 2), takenOver).filter((key) => key.startsWith('TakeOver'))).toEqual([]));
});
