import type { ClusterUid, StoredEvent } from '@fairlead/contracts';
import { askedAgainAt, declaredAfter, isDeclaring, missingOf, type Declared } from '@fairlead/domain';
import { stateOnly, type Moment, type Reconciler, type Task } from '@fairlead/event-sourcing';

/** Data of the task: this pool lacks machines that are declared. */
export interface AskAgainTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly pool: string;
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

/** When each pool that lacks machines asks for them again. */
const momentsOf = (declared: Declared): readonly (readonly [pool: string, at: string])[] =>
  Object.entries(declared.unmet ?? {}).flatMap(([pool, setback]) =>
    missingOf(declared, pool) === 0 ? [] : [[pool, askedAgainAt(setback)] as const],
  );

/** What may have made room for machines anywhere; the quota of a namespace is part of its own stream. */
const ROOM: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ConnectionRegistered',
  'ConnectionVerificationRequested',
  'NamespaceQuotaSet',
]);

const followUpsOf = ({ event }: Moment): readonly Task[] =>
  event === undefined || !ROOM.has(event.type)
    ? []
    : [{ type: 'AskEverywhere', key: 'AskEverywhere', reason: 'there may be room for machines now', data: {} }];

/** What is declared stays declared: machines that came to nothing are asked for again, at growing intervals. */
export const unmetReconciler: Reconciler<KnownDeclaration> = {
  name: 'unmet',
  version: 1,
  context: 'request',
  decider: stateOnly(NOTHING_DECLARED, evolve),
  generation: ({ declared }) => declared?.uid ?? '',
  tasks: ({ declared }, now) =>
    declared === undefined
      ? []
      : momentsOf(declared)
          .filter(([, at]) => at <= now)
          .map(([pool, at]) => {
            const data: AskAgainTask = { uid: declared.uid, pool };
            return { type: 'AskAgain', key: `AskAgain/${pool}/${at}`, reason: 'it lacks declared machines', data };
          }),
  wakeAt: ({ declared }, now) => {
    const later = declared === undefined ? [] : momentsOf(declared).flatMap(([, at]) => (at > now ? [at] : []));
    return later.toSorted()[0] ?? null;
  },
  followUps: (_state, moment) => followUpsOf(moment),
};
