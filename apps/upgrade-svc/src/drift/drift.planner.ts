import type { Fact } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { heldBecause } from '../holds/holds.js';
import { itemsOf, type Drift, type KnownDrift, type Repair } from './drift.state.js';

export type DriftFact = Fact<'DriftRepairRequested' | 'DriftRepaired' | 'DriftRepairSuspended'>;

const MINUTE_MS = 60_000;
/** An item that was repaired this often within the window and differs again is only reported. */
export const RECURRENCES_MAX = 3;
const WINDOW_MS = 10 * MINUTE_MS;
/** From the request until the agent has stated that nothing differs. */
export const REPAIR_LIMIT_MS = 5 * MINUTE_MS;
/** How long such a node is not repaired. */
export const SUSPENSION_MS = 60 * MINUTE_MS;

const ended = (state: KnownDrift, now: string): readonly DriftFact[] =>
  Object.values(state.repairs).flatMap(({ node, requestId, at, drained }): readonly DriftFact[] => {
    const { uid } = state;
    const drift = state.drifts[node];
    if (drained?.isOver === false) return [];
    const tookMs = Math.max(0, Date.parse(now) - Date.parse(at));
    if (drift === undefined) return [{ type: 'DriftRepaired', data: { uid, requestId, node, tookMs } }];
    return drained === undefined && now < later(at, REPAIR_LIMIT_MS)
      ? []
      : [suspended(state, drift, now, 'NotRepaired')];
  });

/** How often the most frequently repaired item was repaired within the window. */
const repairsOf = ({ past }: KnownDrift, drift: Drift, now: string): number => {
  const since = later(now, -WINDOW_MS);
  const counts = itemsOf(drift).map((item) => (past[drift.node]?.[item] ?? []).filter((at) => at > since).length);
  return Math.max(0, ...counts);
};

const suspended = (
  state: KnownDrift,
  drift: Drift,
  now: string,
  reason: 'Recurring' | 'NotRepaired',
): Fact<'DriftRepairSuspended'> => ({
  type: 'DriftRepairSuspended',
  data: {
    ...{ uid: state.uid, node: drift.node, items: [...itemsOf(drift)], reason },
    ...{ repairs: repairsOf(state, drift, now), until: later(now, SUSPENSION_MS) },
  },
});

/** Differences of held nodes are only reported. */
const mayRepair = (state: KnownDrift, { node }: Drift, now: string): boolean =>
  state.repairs[node] === undefined &&
  (state.suspended[node] ?? now) <= now &&
  heldBecause(state.holds, { name: node, pool: state.pools[node] ?? '' }) === undefined;

const needsDrain = ({ differences }: Drift): boolean => differences.some((one) => one.needsDrain === true);

/** Nodes are drained one after the other. */
const inTurn = ({ repairs }: KnownDrift, due: readonly Drift[]): readonly Drift[] => {
  const isDraining = Object.values(repairs).some(({ drained }) => drained !== undefined);
  const first = due.find(needsDrain);
  return due.filter((drift) => !needsDrain(drift) || (drift === first && !isDraining));
};

const begun = (state: KnownDrift, now: string): readonly DriftFact[] => {
  if (state.isReportedOnly || state.life !== 'ready' || state.upgrading || state.restoring) return [];
  const due = Object.values(state.drifts).filter((drift) => mayRepair(state, drift, now));
  return inTurn(state, due).map((drift, at) => {
    if (repairsOf(state, drift, now) >= RECURRENCES_MAX) return suspended(state, drift, now, 'Recurring');
    const requestId = `drift-${state.requests + at + 1}`;
    return {
      type: 'DriftRepairRequested',
      data: {
        ...{ uid: state.uid, requestId, node: drift.node, items: [...itemsOf(drift)] },
        ...(needsDrain(drift) ? { drain: true } : {}),
      },
    };
  });
};

/** The facts that are due for nodes with drift. */
export const driftFacts = (state: KnownDrift, now: string): readonly DriftFact[] => {
  const ends = ended(state, now);
  return ends.length > 0 ? ends : begun(state, now);
};

/** Repairs whose agents have no permission yet. */
export const openRepairs = ({ repairs, life }: KnownDrift): readonly Repair[] =>
  life === 'deleting' ? [] : Object.values(repairs).filter(({ isPermitted }) => !isPermitted);

/** Times at which facts become due without an event. */
export const driftMoments = ({ repairs, suspended: until, drifts }: KnownDrift): readonly string[] => [
  ...Object.values(repairs).flatMap(({ at, drained }) => (drained === undefined ? later(at, REPAIR_LIMIT_MS) : [])),
  ...Object.entries(until).flatMap(([node, moment]) => (drifts[node] === undefined ? [] : [moment])),
];
