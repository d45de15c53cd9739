import { AGENT_CREDENTIALS_REVOKED_MAX, type Fact, type NodeName } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap, revokeCredentials } from './bootstrap.decider.js';
import { evolve } from './bootstrap.evolve.js';
import { cp, created, machinesOf, OTHER_UID, requested, UID, w, wholeCluster } from './bootstrap.fixtures.js';
import { ABSENT, credentialsOf, type Bootstrap } from './bootstrap.state.js';

const { given } = specification(bootstrap);
const LIFETIME_S = 3_600;

const userOf = (index: number): string => `U${String.fromCharCode(65 + index).repeat(55)}`;
const issued = (node: NodeName, user: string, lifetimeSeconds = LIFETIME_S): Fact<'AgentCredentialIssued'> => ({
  type: 'AgentCredentialIssued',
  data: { uid: UID, node, user, lifetimeSeconds },
});
const revoked = (users: readonly string[], lifetimeSeconds = LIFETIME_S): Fact<'AgentCredentialsRevoked'> => ({
  type: 'AgentCredentialsRevoked',
  data: { uid: UID, users: [...users], lifetimeSeconds },
});
const issue = (node: NodeName, user: string, uid = UID) =>
  ({ type: 'IssueCredential', data: { uid, node, user, lifetimeSeconds: LIFETIME_S } }) as const;
const removed = (node: NodeName): Fact<'NodeRemoved'> => ({ type: 'NodeRemoved', data: { uid: UID, node } });
const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };
const dismantled: Fact<'ClusterDismantled'> = { type: 'ClusterDismantled', data: { uid: UID } };
const vmDeleted = (name: NodeName): Fact => ({ type: 'VmDeleted', data: { uid: UID, name } });
const after = (...facts: Fact[]): Bootstrap =>
  facts.map((fact, index) => stored(fact, index + 1)).reduce((state, event) => evolve(state, event), ABSENT);

describe('the credential of an agent', () => {
  it('is recorded before the host has it, once', () => {
    given(...wholeCluster())
      .when(issue(w(1), userOf(0)))
      .then(issued(w(1), userOf(0)));
    given(...wholeCluster(), issued(w(1), userOf(0)))
      .when(issue(w(1), userOf(0)))
      .thenNothing();
  });

  it('is recorded together with the first answer of its host, which counts once', () => {
    const hosts = [requested(1, 1), created(machinesOf(1, 1))];
    const answer = { hostKey: 'SHA256:2', attempts: 3 };
    const reached: Fact<'HostReached'> = { type: 'HostReached', data: { uid: UID, node: w(1), ...answer } };
    const { type, data } = issue(w(1), userOf(0));
    given(...hosts)
      .when({ type, data: { ...data, reached: answer } })
      .then(reached, issued(w(1), userOf(0)));
    given(...hosts, reached)
      .when({ type, data: { ...data, reached: { hostKey: 'SHA256:3', attempts: 1 } } })
      .then(issued(w(1), userOf(0)));
    given(...hosts, issued(w(1), userOf(0)))
      .when({ type, data: { ...data, reached: answer } })
      .then(reached);
  });

  it.each<[string, Fact[], NodeName, typeof UID]>([
    ['a node that the cluster does not have', wholeCluster(), w(9), UID],
    ['a node that was removed', [...wholeCluster(), removed(w(1))], w(1), UID],
    ['another incarnation of the cluster', wholeCluster(), w(1), OTHER_UID],
    ['a cluster that is being deleted', [...wholeCluster(), deletion], w(1), UID],
  ])('is rejected for %s', (_what, facts, node, uid) =>
    given(...facts)
      .when(issue(node, userOf(0), uid))
      .thenRefused('bootstrap.step-not-needed'),
  );

  it('is rejected if another node has that user, because it would be revoked with either of them', () =>
    given(...wholeCluster(), issued(w(1), userOf(0)))
      .when(issue(w(2), userOf(0)))
      .thenRefused('bootstrap.step-not-needed'));

  it('is one of the last eight of its host; older ones are revoked in the same decision', () => {
    const eight = Array.from({ length: 8 }, (_, index) => issued(w(1), userOf(index)));
    given(...wholeCluster(), ...eight)
      .when(issue(w(1), userOf(8)))
      .then(revoked([userOf(0)]), issued(w(1), userOf(8)));
    const state = after(...wholeCluster(), ...eight, revoked([userOf(0)]), issued(w(1), userOf(8)));
    expect(credentialsOf(state, w(1))?.users).toHaveLength(8);
    expect(credentialsOf(state, w(1))?.users).not.toContain(userOf(0));
  });
});

describe('the credentials of removed nodes', () => {
  it('are all revoked in the decision that removes the node, without those of other nodes [Cluster API 18]', () =>
    given(...wholeCluster(), issued(w(1), userOf(0)), issued(w(1), userOf(1), 7_200), issued(w(2), userOf(2)))
      .when(removed(w(1)))
      .then(revoked([userOf(0), userOf(1)], 7_200), removed(w(1))));

  it('are revoked in the decision that dismantles the cluster [Cluster API 18]', () =>
    given(...wholeCluster(), issued(cp(1), userOf(0)), issued(w(2), userOf(1)), deletion)
      .when(dismantled)
      .then(revoked([userOf(0), userOf(1)]), dismantled));

  it('are recorded in several events if one would be too large', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    const many = Array.from(
      { length: AGENT_CREDENTIALS_REVOKED_MAX + 1 },
      (_, index) => `U${[0, 5, 10].map((bits) => letters[(index >> bits) & 31]).join('')}${'A'.repeat(52)}`,
    );
    const gone = many.map((user) => issued(w(9), user));
    given(...wholeCluster(), ...gone, deletion)
      .when(dismantled)
      .then(
        revoked(many.slice(0, AGENT_CREDENTIALS_REVOKED_MAX)),
        revoked(many.slice(AGENT_CREDENTIALS_REVOKED_MAX)),
        dismantled,
      );
  });

  it('are none if none was recorded: a node from before users were recorded', () =>
    given(...wholeCluster())
      .when(removed(w(1)))
      .then(removed(w(1))));
});

describe('a machine that disappears without a removal of its node', () => {
  const facts = [...wholeCluster(), issued(w(1), userOf(0)), vmDeleted(w(1))];

  it('keeps a credential until it is revoked', () => {
    expect(revokeCredentials(after(...facts))).toEqual([revoked([userOf(0)])]);
    expect(revokeCredentials(after(...facts, revoked([userOf(0)])))).toEqual([]);
  });

  it('also keeps the one that was issued at the same time', () =>
    expect(revokeCredentials(after(...wholeCluster(), vmDeleted(w(1)), issued(w(1), userOf(0))))).toEqual([
      revoked([userOf(0)]),
    ]));

  it('has it revoked with the cluster if that is first', () =>
    given(...facts, deletion)
      .when(dismantled)
      .then(revoked([userOf(0)]), dismantled));
});

it('a cluster that is being created has no credentials to revoke', () =>
  expect(revokeCredentials(after(requested(1, 1)))).toEqual([]));
