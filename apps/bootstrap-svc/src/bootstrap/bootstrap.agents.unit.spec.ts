import type { Fact, NodeName } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap } from './bootstrap.decider.js';
import { cp, fit, requested, UID, w, wantedAfter, wholeCluster } from './bootstrap.fixtures.js';
import { isOlder } from './bootstrap.state.js';

const { given } = specification(bootstrap);
const NEW = { agentVersion: '0.2.0', sha256: 'cd' };
const wanted: Fact<'AgentUpdateWanted'> = { type: 'AgentUpdateWanted', data: { uid: UID, ...NEW } };
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
const want = (version: string, sha256: string) => ({ type: 'WantAgent', data: { version, sha256 } }) as const;

describe('a service that comes with another agent', () => {
  it('says once that every node shall run it', () => {
    given(...wholeCluster())
      .when(want('0.2.0', 'cd'))
      .then(wanted);
    given(...wholeCluster(), wanted)
      .when(want('0.2.0', 'cd'))
      .thenNothing();
  });

  it('says nothing where all nodes run it already, or none was ever made', () => {
    given(...wholeCluster())
      .when(want('0.1.0', 'ab'))
      .thenNothing();
    given(requested(3, 2)).when(want('0.2.0', 'cd')).thenNothing();
  });

  it('is not heard when it is older than what is wanted', () =>
    given(...wholeCluster(), wanted)
      .when(want('0.1.9', 'ab'))
      .thenNothing());
});

describe('the agents of a ready cluster', () => {
  it('are exchanged a few at a time', () => {
    expect(wantedAfter(...wholeCluster())).toEqual([]);
    expect(wantedAfter(...wholeCluster(), wanted)).toEqual([cp(1), cp(2), cp(3)].map((node) => `UpdateAgent/${node}`));
    expect(wantedAfter(...wholeCluster(), wanted, updated(cp(1)), updated(cp(3)))).toEqual(
      [cp(2), w(1), w(2)].map((node) => `UpdateAgent/${node}`),
    );
  });

  it('are left alone everywhere once the new one did not come up somewhere, until there is another', () => {
    const facts = [...wholeCluster(), wanted, refused(cp(2))];
    expect(wantedAfter(...facts)).toEqual([]);
    const next: Fact = { type: 'AgentUpdateWanted', data: { uid: UID, agentVersion: '0.2.1', sha256: 'ef' } };
    expect(wantedAfter(...facts, next)).toHaveLength(3);
  });

  it('are left alone while a cluster is built', () =>
    expect(wantedAfter(requested(3, 2), ...fit(cp(1)), wanted).filter((step) => step.startsWith('Update'))).toEqual(
      [],
    ));
});

it.each([
  ['0.1.9', '0.2.0', true],
  ['0.2.0', '0.2.0', false],
  ['0.10.0', '0.9.0', false],
])('%s is older than %s: %s', (version, than, expected) => expect(isOlder(version, than)).toBe(expected));
