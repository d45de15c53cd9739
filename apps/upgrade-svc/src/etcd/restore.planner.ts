import type { Cause, Fact, NodeName, RestoreStep } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { controlPlanesOf, nodesIn, workersOf, type Current, type Restores } from './restore.state.js';

export type RestoreFact = Fact<'EtcdRestoreStarted' | 'EtcdRestoreAdvanced' | 'EtcdRestored' | 'EtcdRestoreFailed'>;

const MINUTE_MS = 60_000;
/** Time limit of each step for all nodes together, including retries. */
const LIMITS_MS: Readonly<Record<RestoreStep, number>> = {
  place: 90 * MINUTE_MS,
  stop: 10 * MINUTE_MS,
  restore: 70 * MINUTE_MS,
  start: 20 * MINUTE_MS,
  verify: 15 * MINUTE_MS,
  refresh: 10 * MINUTE_MS,
  undo: 20 * MINUTE_MS,
};

/** When a step times out; null: no step of others is in progress. */
export const deadlineOf = ({ current }: Restores): string | null =>
  current === null || current.step === 'asked' ? null : later(current.since, LIMITS_MS[current.step]);

const ids = ({ uid }: Restores, { requestId }: Current) => {
  if (uid === null) throw new Error('a restore of no cluster');
  return { uid, requestId };
};

const advanced = (
  state: Restores,
  current: Current,
  step: RestoreStep,
  cause: Cause | null,
): readonly RestoreFact[] => [{ type: 'EtcdRestoreAdvanced', data: { ...ids(state, current), step, cause } }];

const failed = (state: Restores, current: Current, cause: Cause): readonly RestoreFact[] => [
  { type: 'EtcdRestoreFailed', data: { ...ids(state, current), snapshot: current.snapshot, cause } },
];

const restored = (state: Restores, current: Current): readonly RestoreFact[] => [
  { type: 'EtcdRestored', data: { ...ids(state, current), snapshot: current.snapshot } },
];

/** Why it cannot begin, before anything is changed. */
const hindrance = (state: Restores, { snapshot }: Current): string | undefined => {
  const known = state.snapshots[snapshot];
  if (known === undefined) return 'the cluster has no snapshot of this name';
  if (!known.restorable) return 'its data was not kept';
  if (state.rollout !== null) return `rollout ${state.rollout} is in progress (B1)`;
  return controlPlanesOf(state).length === 0 ? 'the cluster has no control plane' : undefined;
};

const begun = (state: Restores, current: Current): readonly RestoreFact[] => {
  const message = hindrance(state, current);
  const known = state.snapshots[current.snapshot];
  if (message !== undefined || known === undefined)
    return failed(state, current, {
      operation: 'restore etcd',
      target: current.snapshot,
      message: `${message ?? ''}; nothing was changed`,
    });
  const members = controlPlanesOf(state).map((node) => ({ node, peerUrl: state.nodes[node]?.peerUrl ?? '' }));
  const { sha256, bytes } = known;
  return [
    {
      type: 'EtcdRestoreStarted',
      data: { ...ids(state, current), snapshot: current.snapshot, sha256, bytes, members },
    },
    ...advanced(state, current, 'place', null),
  ];
};

const waitsFor = (state: Restores, { step, done }: Current): readonly NodeName[] =>
  step === 'asked' ? [] : nodesIn(state, step).filter((node) => !done.includes(node));

/** Why the step has failed; undefined: it has not. */
const trouble = (state: Restores, current: Current, now: string): Cause | undefined => {
  if (current.failed !== null) return current.failed;
  const deadline = deadlineOf(state);
  if (deadline === null || now < deadline) return undefined;
  const nodes = waitsFor(state, current).join(', ');
  return { operation: `restore etcd: ${current.step}`, target: nodes || 'etcd', message: 'it did not finish in time' };
};

const saying = (cause: Cause, words: string): Cause => ({ ...cause, message: `${cause.message}; ${words}` });

/** After the start, an undo would lose later writes, so an operator must decide. */
const STARTED =
  'etcd was started with the data of the snapshot; the previous data is kept beside it on each control plane';

const whenTroubled = (state: Restores, current: Current, cause: Cause): readonly RestoreFact[] => {
  switch (current.step) {
    case 'asked':
      return [];
    case 'place':
      return failed(state, current, saying(cause, 'nothing was changed'));
    case 'stop':
    case 'restore':
      return advanced(state, current, 'undo', cause);
    case 'start':
    case 'verify':
      return failed(state, current, saying(cause, STARTED));
    case 'refresh':
      // etcd is back. A kubelet that was not restarted notices that, because everything it watches was compacted.
      return restored(state, current);
    case 'undo':
      return failed(
        state,
        current,
        saying(current.cause ?? cause, `and restoring the previous data failed: ${cause.message}`),
      );
  }
};

const NEXT = { place: 'stop', stop: 'restore', restore: 'start', start: 'verify' } as const;

const whenDone = (state: Restores, current: Current): readonly RestoreFact[] => {
  switch (current.step) {
    case 'asked':
      return [];
    case 'place':
    case 'stop':
    case 'restore':
    case 'start':
      return advanced(state, current, NEXT[current.step], null);
    case 'verify':
      if (!current.verified) return [];
      return workersOf(state).length === 0 ? restored(state, current) : advanced(state, current, 'refresh', null);
    case 'refresh':
      return restored(state, current);
    case 'undo':
      return failed(state, current, saying(current.cause ?? UNKNOWN, 'the previous data was restored'));
  }
};

const UNKNOWN: Cause = { operation: 'restore etcd', target: 'etcd', message: 'it failed' };

/** The facts that follow from the state of a restore; empty: it waits. */
export const advance = (state: Restores, now: string): readonly RestoreFact[] => {
  const { current } = state;
  if (current === null) return [];
  if (current.step === 'asked') return begun(state, current);
  const cause = trouble(state, current, now);
  if (cause !== undefined) return whenTroubled(state, current, cause);
  return waitsFor(state, current).length === 0 ? whenDone(state, current) : [];
};
