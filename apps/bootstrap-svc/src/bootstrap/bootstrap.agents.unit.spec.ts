import type { Fact, NodeName } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap } from './bootstrap.decider.js';
import { cp, fit, requested, UID, w, desiredAfter, stateAfter, wholeCluster } from './bootstrap.fixtures.js';
import { bootstrapReconciler } from './bootstrap.reconciler.js';

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

describe('a service with a different agent', () => {
  it('requests once that every node runs it', () => {
    given(...wholeCluster())
      .when(request('0.2.0', 'cd'))
      .then(desired);
    given(...wholeCluster(), desired)
      .when(request('0.2.0', 'cd'))
      .thenNothing();
  });

  it('requests nothing if all nodes already run it, or none was ever created', () => {
    given(...wholeCluster())
      .when(request('0.1.0', 'ab'))
      .thenNothing();
    given(requested(3, 2)).when(request('0.2.0', 'cd')).thenNothing();
  });

  it('is ignored if its agent is older than the desired one', () =>
    given(...wholeCluster(), desired)
      .when(request('0.1.9', 'ab'))
      .thenNothing());
});

describe('the agents of a ready cluster', () => {
  it('are replaced a few at a time', () => {
    expect(desiredAfter(...wholeCluster())).toEqual([]);
    expect(desiredAfter(...wholeCluster(), desired)).toEqual(
      [cp(1), cp(2), cp(3)].map((node) => `UpdateAgent/${node}`),
    );
    expect(desiredAfter(...wholeCluster(), desired, updated(cp(1)), updated(cp(3)))).toEqual(
      [cp(2), w(1), w(2)].map((node) => `UpdateAgent/${node}`),
    );
  });

  it('are not replaced anywhere after the new one failed to start on a node, until there is another', () => {
    const facts = [...wholeCluster(), desired, refused(cp(2))];
    expect(desiredAfter(...facts)).toEqual([]);
    const next: Fact = { type: 'AgentUpdateRequested', data: { uid: UID, agentVersion: '0.2.1', sha256: 'ef' } };
    expect(desiredAfter(...facts, next)).toHaveLength(3);
  });

  it('are not replaced while a cluster is being created', () =>
    expect(desiredAfter(requested(3, 2), ...fit(cp(1)), desired).filter((step) => step.startsWith('Update'))).toEqual(
      [],
    ));
});

describe('a silent agent', () => {
  const LIFETIME_S = 3_600;
  const issued: Fact = {
    type: 'AgentCredentialIssued',
    data: { uid: UID, node: w(1), user: `U${'A'.repeat(55)}`, lifetimeSeconds: LIFETIME_S },
  };
  const lost = (node = w(1)): Fact => ({ type: 'NodeLost', data: { uid: UID, node, lastSeenAt: null, limitMs: 1 } });
  const recovered: Fact = { type: 'NodeRecovered', data: { uid: UID, node: w(1), lostForMs: 1 } };
  const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } };
  const retry: Fact = { type: 'ClusterRetryRequested', data: { uid: UID } };
  const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };
  const { tasks, wakeAt } = bootstrapReconciler();

  const facts = [...wholeCluster(), issued, lost()];
  const lostAt = stored(lost(), facts.length).meta.time;
  const endsAt = later(lostAt, LIFETIME_S * 1_000);
  const renewedAt = (now: string, ...story: Fact[]): readonly string[] =>
    tasks(stateAfter(...story), now)
      .map(({ key }) => key)
      .filter((key) => key.startsWith('RenewCredential'));

  it('gets a new credential over SSH once its own has expired', () => {
    expect(renewedAt(lostAt, ...facts)).toEqual([]);
    expect(wakeAt?.(stateAfter(...facts), lostAt)).toBe(endsAt);
    expect(renewedAt(endsAt, ...facts)).toEqual([`RenewCredential/${w(1)}`]);
    expect(wakeAt?.(stateAfter(...facts), endsAt)).toBeNull();
  });

  it('gets none if it returned by itself, or its node is being removed', () => {
    expect(renewedAt(endsAt, ...facts, recovered)).toEqual([]);
    expect(renewedAt(endsAt, ...facts, removal)).toEqual([]);
    expect(renewedAt(endsAt, ...facts, deletion)).toEqual([]);
  });

  it('gets one at once when a retry is requested, but agents with heartbeats do not', () =>
    expect(renewedAt(later(lostAt, 1_000), ...facts, retry)).toEqual([`RenewCredential/${w(1)}`]));

  it('is assumed to have had its credential since its last heartbeat', () => {
    const lastSeenAt = later(lostAt, -60_000);
    const seen: Fact = { type: 'NodeLost', data: { uid: UID, node: w(1), lastSeenAt, limitMs: 1 } };
    const state = stateAfter(...wholeCluster(), issued, seen);
    expect(wakeAt?.(state, lostAt)).toBe(later(lastSeenAt, LIFETIME_S * 1_000));
  });

  it('has a day if the lifetime of its credential is unknown', () => {
    const unknown = [...wholeCluster(), lost(cp(1))];
    expect(wakeAt?.(stateAfter(...unknown), lostAt)).toBe(
      later(stored(lost(), unknown.length).meta.time, 24 * 3_600_000),
    );
  });

  it('is renewed together with all other silent ones', () => {
    const many = [cp(1), cp(2), cp(3), w(1), w(2)];
    const silent = [...wholeCluster(), ...many.map((node) => lost(node))];
    const later25h = later(lostAt, 25 * 3_600_000);
    expect(renewedAt(later25h, ...silent)).toHaveLength(many.length);
    expect(renewedAt(later25h, ...silent, recovered)).not.toContain(`RenewCredential/${w(1)}`);
  });
});
