import { refuse, type Refusal, type StoredEvent } from '@fairlead/contracts';
import { nothing, type Decider } from '@fairlead/event-sourcing';
import { refusing } from '../rules/finding.js';
import { advance } from './advance.planner.js';
import { isNews } from './news.planner.js';
import type { RecordCheck, RecordFact, RecordFailure, RolloutCommand, RolloutFact } from './rollout.commands.js';
import { evolve } from './rollout.evolve.js';
import { keyOf, type RolloutJob } from './rollout.jobs.js';
import { isWanted } from './rollout.planner.js';
import { ABSENT, type KnownCluster, type Rollout } from './rollout.state.js';

/** One thing leads to the next; far more than a plan has, so that a fault here is a fault and no endless loop. */
const CONSEQUENCES_MAX = 1_000;

/** The fact as it will stand in the log, as far as evolve asks. */
const asStored = (fact: RolloutFact, now: string): StoredEvent =>
  ({ ...fact, meta: { time: now } }) as unknown as StoredEvent;

const after = (state: Rollout, facts: readonly RolloutFact[], now: string): Rollout =>
  facts.reduce((before, fact) => evolve(before, asStored(fact, now)), state);

/** The facts, and everything that follows from them at once. */
const withConsequences = (state: Rollout, facts: readonly RolloutFact[], now: string): readonly RolloutFact[] => {
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

const begin = (state: Rollout, job: RolloutJob): readonly never[] | Refusal =>
  isWanted(state, job) ? nothing : refuse('upgrade.not-wanted', { job: keyOf(job), cluster: job.uid });

const present = (state: Rollout, uid: string): state is KnownCluster => state.status === 'known' && state.uid === uid;

const recordCheck = (state: Rollout, { data }: RecordCheck): readonly RolloutFact[] => {
  const { uid, upgradeId, now } = data;
  if (!present(state, uid) || state.upgrade?.id !== upgradeId || state.upgrade.status !== 'checking') return nothing;
  if (data.outcome === 'rejected')
    return withConsequences(
      state,
      [{ type: 'UpgradeRejected', data: { uid, upgradeId, findings: [...data.findings] } }],
      now,
    );
  const { plan, planHash } = data;
  const { mode } = state.upgrade.wish;
  return withConsequences(state, [{ type: 'UpgradePlanned', data: { uid, upgradeId, plan, planHash, mode } }], now);
};

const recordFact = (state: Rollout, { data: { facts, now } }: RecordFact): readonly RolloutFact[] => {
  const news: RolloutFact[] = [];
  let known = state;
  for (const fact of facts) {
    if (!present(known, fact.data.uid) || !isNews(known, fact)) continue;
    news.push(fact);
    known = after(known, [fact], now);
  }
  return news.length === 0 ? nothing : withConsequences(state, news, now);
};

/** A check that cannot be made is no plan: the world's own words are the reason. */
const checkFailed = (
  { uid, upgrade }: KnownCluster,
  { cause, nextAttemptAt }: RecordFailure['data'],
): readonly RolloutFact[] => {
  if (upgrade === null || nextAttemptAt !== null) return nothing;
  const finding = refusing('E6', {
    sentence: `the cluster could not be looked at: ${cause.message}`,
    facts: { operation: cause.operation, target: cause.target },
    help: 'Mend what keeps it from being reached, then "fairlead upgrade retry".',
  });
  return [{ type: 'UpgradeRejected', data: { uid, upgradeId: upgrade.id, findings: [finding] } }];
};

const recordFailure = (state: Rollout, { data }: RecordFailure): readonly RolloutFact[] => {
  const { job, now, ...failure } = data;
  if (!isWanted(state, job) || !present(state, job.uid)) return nothing;
  if (job.type === 'CheckUpgrade') return checkFailed(state, data);
  const open = job.operation === undefined ? undefined : state.upgrade?.operations[job.operation];
  // What is being parked has failed already; its jobs are tried again in silence.
  if (job.operation === undefined || open?.status !== 'open') return nothing;
  const { cause, attempt, attemptsMax, nextAttemptAt } = failure;
  const node = state.upgrade?.plan?.operations.find(({ id }) => id === job.operation)?.node ?? null;
  const where = { uid: job.uid, upgradeId: job.upgradeId, operation: job.operation, node };
  return withConsequences(
    state,
    [{ type: 'OperationFailed', data: { ...where, cause, attempt, attemptsMax, nextAttemptAt } }],
    now,
  );
};

/** The one writer of a cluster's roll-out. It reads all facts about the cluster, and states only its own. Stream `rollout`. */
export const rollout: Decider<Rollout, RolloutCommand, RolloutFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, command) => {
    switch (command.type) {
      case 'BeginJob':
        return begin(state, command.data);
      case 'RecordCheck':
        return recordCheck(state, command);
      case 'RecordFact':
        return recordFact(state, command);
      case 'RecordFailure':
        return recordFailure(state, command);
      case 'Advance':
        return present(state, command.data.uid) ? withConsequences(state, [], command.data.now) : nothing;
    }
  },
};
