import type { Fact, NodeName } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap } from './bootstrap.decider.js';
import { cp, fit, requested, UID, w, desiredAfter, wholeCluster } from './bootstrap.fixtures.js';

const { given } = specification(bootstrap);
const NEW = { agentVersion: '0.2.0', sha256: 'cd' };
const desired: Fact<'AgentUpdateRequested'> = { type: 'AgentUpdateRequested', data: { uid: UID, ...NEW } };
const updated = (node: NodeName): Fact<'AgentUpdated'> => ({ type: 'AgentUpdated', data: { uid: UID, node, ...NEW } });
const refused = (node: NodeName): Fact<'BootstrapStepFailed'> => ({
  type: 'BootstrapStepFailed',
  data: {
    uid: UID,
    step: 'UpdateAgent',
    node,
    cause: { operation: 'start the agent', target: node, message: 'it did not come up' },
    attempt: 2,
    attemptsMax: 2,
    nextAttemptAt: null,
  },
});
const request = (version: string, sha256: string) =>
  ({ type: 'RequestAgentUpdate', data: { version, sha256 } }) as const;

describe('a service that comes with another agent', () => {
  it('says once that every node must run it', () => {
    given(...wholeCluster())
      .when(request('0.2.0', 'cd'))
      .then(desired);
    given(...wholeCluster(), desired)
      .when(request('0.2.0', 'cd'))
      .thenNothing();
  });

  it('says nothing where all nodes run it already, or none was ever made', () => {
    given(...wholeCluster())
      .when(request('0.1.0', 'ab'))
      .thenNothing();
    given(requested(3, 2)).when(request('0.2.0', 'cd')).thenNothing();
  });

  it('is ignored when it is older than the desired one', () =>
    given(...wholeCluster(), desired)
      .when(request('0.1.9', 'ab'))
      .thenNothing());
});

describe('the agents of a ready cluster', () => {
  it('are exchanged a few at a time', () => {
    expect(desiredAfter(...wholeCluster())).toEqual([]);
    expect(desiredAfter(...wholeCluster(), desired)).toEqual(
      [cp(1), cp(2), cp(3)].map((node) => `UpdateAgent/${node}`),
    );
    expect(desiredAfter(...wholeCluster(), desired, updated(cp(1)), updated(cp(3)))).toEqual(
      [cp(2), w(1), w(2)].map((node) => `UpdateAgent/${node}`),
    );
  });

  it('are left alone everywhere once the new one did not come up somewhere, until there is another', () => {
    const facts = [...wholeCluster(), desired, refused(cp(2))];
    expect(desiredAfter(...facts)).toEqual([]);
    const next: Fact = { type: 'AgentUpdateRequested', data: { uid: UID, agentVersion: '0.2.1', sha256: 'ef' } };
    expect(desiredAfter(...facts, next)).toHaveLength(3);
  });

  it('are left alone while a cluster is built', () =>
    expect(desiredAfter(requested(3, 2), ...fit(cp(1)), desired).filter((step) => step.startsWith('Update'))).toEqual(
      [],
    ));
});
