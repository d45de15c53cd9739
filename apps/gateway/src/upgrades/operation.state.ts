import { sentenceOf, type StoredEvent } from '@fairlead/contracts';

/** How far an operation of a plan is. */
export interface OperationState {
  readonly status: 'running' | 'done' | 'failed' | 'skipped';
  /** When it began for the first time: a retry goes on. */
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly failure: string;
  readonly nextAttemptAt: string | null;
}

export type OperationEvent = StoredEvent<
  'OperationStarted' | 'OperationCompleted' | 'OperationFailed' | 'OperationPostponed' | 'SurgeSkipped'
>;

export type OperationStates = Readonly<Record<string, OperationState>>;

const begun = (time: string): OperationState => ({
  status: 'running',
  startedAt: time,
  finishedAt: null,
  attempt: 1,
  attemptsMax: 0,
  failure: '',
  nextAttemptAt: null,
});

const changed = (before: OperationState | undefined, event: OperationEvent): OperationState | undefined => {
  const { time } = event.meta;
  const known = before ?? begun(time);
  switch (event.type) {
    case 'OperationStarted':
      return { ...known, status: 'running', finishedAt: null, nextAttemptAt: null };
    case 'OperationCompleted':
      return { ...known, status: 'done', finishedAt: time, failure: '', nextAttemptAt: null };
    case 'OperationFailed': {
      const { cause, attempt, attemptsMax, nextAttemptAt } = event.data;
      const status = nextAttemptAt === null ? 'failed' : 'running';
      const finishedAt = nextAttemptAt === null ? time : null;
      return { ...known, status, finishedAt, attempt, attemptsMax, failure: sentenceOf(cause), nextAttemptAt };
    }
    case 'SurgeSkipped':
      return { ...known, status: 'skipped', finishedAt: time, failure: event.data.reason, nextAttemptAt: null };
    case 'OperationPostponed':
      return undefined;
  }
};

/** The states of operations by their ids, after an event about one of them. */
export const operationStatesAfter = (states: OperationStates, event: OperationEvent): OperationStates => {
  const { operation } = event.data;
  const { [operation]: before, ...others } = states;
  const after = changed(before, event);
  return after === undefined ? others : { ...others, [operation]: after };
};
