import type { Cause, ClusterUid, RestoreStep, StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { advance, type RestoreFact } from './restore.planner.js';
import { evolve, NO_RESTORES, type Restores } from './restore.state.js';

export interface StepOfRestore {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
  readonly step: RestoreStep;
}

/** etcd and the API were verified after the start, or it is known that they will not be. */
export type RecordVerified = Command<
  'RecordVerified',
  StepOfRestore & { readonly now: string; readonly failed: Cause | null }
>;

/** A step leads to the next only through events of others, so there are far fewer than this. */
const CONSEQUENCES_MAX = 10;

const after = (state: Restores, facts: readonly RestoreFact[], now: string): Restores =>
  facts.reduce((before, fact) => evolve(before, { ...fact, meta: { time: now } } as unknown as StoredEvent), state);

/** All facts that follow from the state at `now` (RFC 3339). */
export const consequences = (state: Restores, now: string): readonly RestoreFact[] => {
  const said: RestoreFact[] = [];
  let known = state;
  for (let count = 0; count < CONSEQUENCES_MAX; count += 1) {
    const next = advance(known, now);
    if (next.length === 0) return said;
    said.push(...next);
    known = after(known, next, now);
  }
  throw new Error('a restore without end');
};

/** Whether this is the current step of the restore. */
const isAt = ({ uid, current }: Restores, { requestId, step, ...of }: StepOfRestore): boolean =>
  uid === of.uid && current?.requestId === requestId && current.step === step;

const verified = (state: Restores, { data }: RecordVerified): readonly RestoreFact[] => {
  const { current } = state;
  if (current === null || !isAt(state, data)) return nothing;
  return consequences(
    { ...state, current: { ...current, verified: data.failed === null, failed: data.failed } },
    data.now,
  );
};

/** Restores of etcd (G4). In the stream of rollouts, of which none runs at the same time. */
export const restore: Decider<Restores, RecordVerified, RestoreFact> = {
  initial: NO_RESTORES,
  reads: 'cluster',
  evolve,
  decide: verified,
};
