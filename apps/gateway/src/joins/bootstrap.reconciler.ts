import type { ClusterUid, JoinTokenId, StoredEvent } from '@fairlead/contracts';
import { stateOnly, type Reconciler, type Task } from '@fairlead/event-sourcing';
import { joinsAfter, type Joins } from './joins.decider.js';

/** Data of the task: a pool of this cluster has no bootstrap data yet. */
export interface BootstrapDataTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly pool: string;
}

/** Data of the follow-up: these pools are gone, or all of a cluster. */
export interface DestroyKeysTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  /** Ids of tokens; absent: the cluster is deleted. */
  readonly admissions?: readonly JoinTokenId[];
}

/** `joins` undefined: there is no cluster. */
interface KnownJoins {
  readonly joins?: Joins;
  /** Ids of the tokens of pools, and of some that are gone. Absent: none. */
  readonly generated?: readonly JoinTokenId[];
}

const NO_JOINS: KnownJoins = {};

const without = (pools: Joins['pools']): readonly string[] =>
  Object.entries(pools).flatMap(([name, { data }]) => (data === undefined ? [name] : []));

const usedIn = ({ pools }: Joins): readonly JoinTokenId[] =>
  Object.values(pools).flatMap(({ data }) => data?.admission ?? []);

const evolve = (known: KnownJoins, event: StoredEvent): KnownJoins => {
  const joins = joinsAfter(known.joins, event);
  if (joins === known.joins) return known;
  if (joins === undefined) return NO_JOINS;
  if (event.type !== 'BootstrapDataGenerated') return { ...known, joins };
  return { joins, generated: usedIn(joins) };
};

const destroyKeys = (data: DestroyKeysTask, reason: string): readonly Task[] => [
  { type: 'DestroyBootstrapKeys', key: 'DestroyBootstrapKeys', reason, data },
];

const followUpsOf = ({ joins, generated = [] }: KnownJoins, event: StoredEvent): readonly Task[] => {
  if (event.type === 'ClusterDeleted') return destroyKeys({ uid: event.data.uid }, 'the cluster is deleted');
  if (event.type !== 'ClusterSpecChanged' || joins === undefined) return [];
  const used = usedIn(joins);
  const admissions = generated.filter((admission) => !used.includes(admission));
  return admissions.length === 0 ? [] : destroyKeys({ uid: joins.uid, admissions }, 'their pools are gone');
};

/** Every pool whose hosts join by themselves has bootstrap data from the moment at which it is declared, until it is gone. */
export const bootstrapDataReconciler: Reconciler<KnownJoins> = {
  name: 'bootstrap-data',
  version: 3,
  context: 'joins',
  decider: stateOnly(NO_JOINS, evolve),
  generation: ({ joins }) => joins?.uid ?? '',
  tasks: ({ joins }) =>
    joins === undefined
      ? []
      : without(joins.pools).map((pool) => {
          const data: BootstrapDataTask = { uid: joins.uid, pool };
          return {
            type: 'GenerateBootstrapData',
            key: `GenerateBootstrapData/${pool}`,
            reason: 'its hosts join by themselves, and it has no bootstrap data yet',
            data,
          };
        }),
  followUps: (known, { event }) => (event === undefined ? [] : followUpsOf(known, event)),
};
