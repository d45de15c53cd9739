import type { ClusterUid, StoredEvent } from '@fairlead/contracts';
import { askedAgainAt, declaredAfter, isDeclaring, missingOf, type Declared } from '@fairlead/domain';
import { stateOnly, type Moment, type Reconciler, type Task } from '@fairlead/event-sourcing';

/** Data of the task: this pool lacks machines that are declared. */
export interface AskAgainTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly pool: string;
}

/** Data of the task: the rollout of a pool has stopped. */
export interface TryAgainTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** `declared` undefined: there is no cluster. */
interface KnownDeclaration {
  readonly declared?: Declared;
}

const NOTHING_DECLARED: KnownDeclaration = {};

const evolve = (known: KnownDeclaration, event: StoredEvent): KnownDeclaration => {
  if (!isDeclaring(event)) return known;
  const declared = declaredAfter(known.declared, event);
  if (declared === known.declared) return known;
  return declared === undefined ? NOTHING_DECLARED : { declared };
};

type PoolMoment = readonly [pool: string, at: string];

/** When each pool that lacks machines asks for them again. */
const missingMoments = (declared: Declared): readonly PoolMoment[] =>
  Object.entries(declared.unmet ?? {}).flatMap(([pool, setback]) =>
    missingOf(declared, pool) === 0 ? [] : [[pool, askedAgainAt(setback)] as const],
  );

/** When each rollout that has stopped continues. */
const stoppedMoments = (declared: Declared): readonly PoolMoment[] =>
  Object.entries(declared.stopped ?? {}).flatMap(([pool, rollout]) =>
    rollout.open === true ? [] : [[pool, askedAgainAt(rollout)] as const],
  );

const askAgain =
  ({ uid }: Declared) =>
  ([pool, at]: PoolMoment): Task => {
    const data: AskAgainTask = { uid, pool };
    return { type: 'AskAgain', key: `AskAgain/${pool}/${at}`, reason: 'it lacks declared machines', data };
  };

const tryAgain =
  ({ uid }: Declared) =>
  ([pool, at]: PoolMoment): Task => {
    const data: TryAgainTask = { uid };
    return { type: 'TryAgain', key: `TryAgain/${pool}/${at}`, reason: 'its rollout has stopped', data };
  };

/** What may have made room for machines, or for another end of a lease, anywhere; the quota of a namespace is part of its own stream. */
const ROOM: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ConnectionRegistered',
  'ConnectionVerificationRequested',
  'NamespaceQuotaSet',
]);

const followUpsOf = ({ event }: Moment): readonly Task[] =>
  event === undefined || !ROOM.has(event.type)
    ? []
    : [{ type: 'AskEverywhere', key: 'AskEverywhere', reason: 'there may be room for machines now', data: {} }];

/**
 * What is declared stays declared: machines that came to nothing are asked for again, and rollouts that have stopped
 * continue, at growing intervals.
 */
export const unmetReconciler: Reconciler<KnownDeclaration> = {
  name: 'unmet',
  version: 2,
  context: 'request',
  decider: stateOnly(NOTHING_DECLARED, evolve),
  generation: ({ declared }) => declared?.uid ?? '',
  tasks: ({ declared }, now) => {
    if (declared === undefined) return [];
    const isDue = ([, at]: PoolMoment): boolean => at <= now;
    return [
      ...missingMoments(declared).filter(isDue).map(askAgain(declared)),
      ...stoppedMoments(declared).filter(isDue).map(tryAgain(declared)),
    ];
  },
  wakeAt: ({ declared }, now) => {
    const moments = declared === undefined ? [] : [...missingMoments(declared), ...stoppedMoments(declared)];
    return moments.flatMap(([, at]) => (at > now ? [at] : [])).toSorted()[0] ?? null;
  },
  followUps: (_state, moment) => followUpsOf(moment),
};
