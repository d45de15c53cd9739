import type { ClusterUid, Finding, StoredEvent } from '@fairlead/contracts';
import { nothing, type Decider } from '@fairlead/event-sourcing';
import { advance } from './advance.planner.js';
import { isChange } from './changes.planner.js';
import type { RecordCheck, RecordFact, RolloutCommand, RolloutFact } from './rollout.commands.js';
import { evolve } from './rollout.evolve.js';
import { areSameFindings, mayPass } from '../rules/finding.js';
import { ABSENT, waitsForChecks, type ClusterState, type Rollout, type Upgrade } from './rollout.state.js';

/** Far more consequences than any plan has, so that a bug does not cause an endless loop. */
const CONSEQUENCES_MAX = 1_000;

/** The fact as a stored event, with the fields that evolve needs. */
const asStored = (fact: RolloutFact, now: string): StoredEvent =>
  ({ ...fact, meta: { time: now } }) as unknown as StoredEvent;

const after = (state: Rollout, facts: readonly RolloutFact[], now: string): Rollout =>
  facts.reduce((before, fact) => evolve(before, asStored(fact, now)), state);

/** The facts with everything that immediately follows from them. */
export const withConsequences = (
  state: Rollout,
  facts: readonly RolloutFact[],
  now: string,
): readonly RolloutFact[] => {
  let known = after(state, facts, now);
  const said = [...facts];
  while (known.status === 'known') {
    const next = advance(known, now);
    if (next.length === 0) return said;
    said.push(...next);
    if (said.length > CONSEQUENCES_MAX) throw new Error(`no end of consequences: ${next[0]?.type ?? ''}`);
    known = after(known, next, now);
  }
  return said;
};

const present = (state: Rollout, uid: string): state is ClusterState => state.status === 'known' && state.uid === uid;

/** An upgrade that is declared, or was asked to wait, waits for findings that may pass with time, and records only new ones. */
const refused = (upgrade: Upgrade, uid: ClusterUid, findings: readonly Finding[]): readonly RolloutFact[] => {
  const data = { uid, upgradeId: upgrade.id, findings: [...findings] };
  if (!waitsForChecks(upgrade) || !mayPass(findings)) return [{ type: 'UpgradeRejected', data }];
  if (upgrade.waits !== undefined && areSameFindings(upgrade.waits.findings, findings)) return nothing;
  return [{ type: 'UpgradeWaiting', data }];
};

const recordCheck = (state: Rollout, { data }: RecordCheck): readonly RolloutFact[] => {
  const { uid, upgradeId, now } = data;
  if (!present(state, uid) || state.upgrade?.id !== upgradeId || state.upgrade.status !== 'checking') return nothing;
  if (data.outcome === 'rejected') return withConsequences(state, refused(state.upgrade, uid, data.findings), now);
  const { plan, planHash } = data;
  const { mode } = state.upgrade.request;
  return withConsequences(state, [{ type: 'UpgradePlanned', data: { uid, upgradeId, plan, planHash, mode } }], now);
};

const recordFact = (state: Rollout, { data: { facts, now } }: RecordFact): readonly RolloutFact[] => {
  const news: RolloutFact[] = [];
  let known = state;
  for (const fact of facts) {
    if (!present(known, fact.data.uid) || !isChange(known, fact)) continue;
    news.push(fact);
    known = after(known, [fact], now);
  }
  return news.length === 0 ? nothing : withConsequences(state, news, now);
};

/**
 * The single writer of a cluster's rollout. It reads all facts about the cluster, and writes only its own. Stream
 * `rollout`.
 */
export const rollout: Decider<Rollout, RolloutCommand, RolloutFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, command) =>
    command.type === 'RecordCheck' ? recordCheck(state, command) : recordFact(state, command),
};
