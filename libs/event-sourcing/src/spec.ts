import {
  eventSubject,
  isRefusal,
  type EventType,
  type Fact,
  type RefusalCode,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { isDeepStrictEqual } from 'node:util';
import { addressOf, isRejection } from './acceptance.js';
import type { Command, Decider } from './decider.js';
import { desiredTasks, reconcilerDecider, type Reconciler, type Task } from './reconciler.js';

const WRITTEN_AT = Date.parse('2026-01-01T00:00:00.000Z');

/** A fact as if it were in the log, at one event per second: the input of `evolve` in specs. */
export const stored = (fact: Fact, seq = 1, meta: Partial<StoredEvent['meta']> = {}): StoredEvent =>
  ({
    ...fact,
    meta: {
      id: `event-${seq}`,
      seq,
      namespace: 'default',
      cluster: 'demo',
      context: 'spec',
      time: new Date(WRITTEN_AT + seq * 1000).toISOString(),
      actor: 'user/spec',
      source: '/spec',
      correlationId: 'event-1',
      causationId: `event-${seq - 1}`,
      streamVersion: seq,
      prevHash: '',
      ...meta,
    },
  }) as StoredEvent;

/** The writer of an event of a type in a stream that readers accept: for specs that state the facts of others. */
export const writerOf = (stream: StreamId, type: EventType): { readonly source: string; readonly actor: string } => {
  const address = addressOf(eventSubject(stream, type));
  if (address === undefined || isRejection(address))
    throw new Error(`${type} has no place in ${JSON.stringify(stream)}`);
  const [actor = ''] = address.actors;
  return { source: address.source, actor: actor.endsWith('/') ? `${actor}spec` : actor };
};

const expectEqual = (actual: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`expected ${JSON.stringify(expected, null, 2)}\nbut got ${JSON.stringify(actual, null, 2)}`);
};

/** given(facts).when(command).then(facts): the decider's behaviour as a sentence. */
export const specification = <State, C extends Command, E extends Fact>(decider: Decider<State, C, E>) => ({
  given: (...facts: readonly Fact[]) => {
    const state = facts.reduce(
      (before, fact, index) => decider.evolve(before, stored(fact, index + 1)),
      decider.initial,
    );
    return {
      when: (command: C) => {
        const outcome = decider.decide(state, command);
        return {
          then: (...expected: readonly E[]): void => expectEqual(outcome, expected),
          thenNothing: (): void => expectEqual(outcome, []),
          thenRefused: (code: RefusalCode, message?: string): void => {
            expectEqual(isRefusal(outcome) ? outcome.code : outcome, code);
            if (message !== undefined) expectEqual(isRefusal(outcome) ? outcome.message : outcome, message);
          },
        };
      },
    };
  },
});

/** The tasks that a reconciler desires after these facts, at the time of the last one. */
export const desiredAfter = <State>(reconciler: Reconciler<State>, facts: readonly Fact[]): readonly Task[] => {
  const events = facts.map((fact, index) => stored(fact, index + 1));
  const { initial, evolve } = reconcilerDecider(reconciler);
  return desiredTasks(reconciler, events.reduce(evolve, initial), events.at(-1)?.meta.time ?? '');
};
