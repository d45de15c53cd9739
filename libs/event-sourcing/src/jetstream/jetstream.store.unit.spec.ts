import { describe, expect, it } from '@jest/globals';
import { errors, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { FIRST_PREVHASH, namespaceStream, type Fact } from '@fairlead/contracts';
import { JetStreamStore } from './jetstream.store.js';

const STREAM = namespaceStream('default');
const FACT = { type: 'NamespaceCreated', data: { name: 'default', description: 'For tests' } } as unknown as Fact;
const START = { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };
const CAUSE = { actor: 'user/spec', causationId: 'c', correlationId: 'c' };
const facts = (count: number): readonly Fact[] => Array.from({ length: count }, () => FACT);

/** A stream without a leader for this many requests. */
const electing = (withoutLeader: number) => {
  const batches: string[] = [];
  let requests = 0;
  const nc = {
    publish: (_subject: string, _bytes: unknown, { headers }: { headers: MsgHdrs }) =>
      void batches.push(headers.get('Nats-Batch-Id')),
    request: (subject: string) => {
      requests += 1;
      if (requests > withoutLeader) return Promise.resolve({ json: () => ({ seq: 2 }) });
      const cause = new errors.NoRespondersError(subject);
      return Promise.reject(new errors.RequestError('no responders', { cause }));
    },
  } as unknown as NatsConnection;
  let ids = 0;
  const newId = (): string => `id-${(ids += 1)}`;
  const store = new JetStreamStore({ nc, source: '/gateway', now: () => new Date(0), newId });
  return { store, batches, requests: () => requests };
};

describe('an append while NATS elects a leader of the log', () => {
  it('is recorded once there is one', async () => {
    const { store, requests } = electing(2);
    const appended = await store.append(STREAM, START, facts(1), CAUSE);
    expect([appended.kind, requests()]).toEqual(['appended', 3]);
  });

  it('restarts a batch: what was published before the election reached no server', async () => {
    const { store, batches } = electing(1);
    await store.append(STREAM, START, facts(2), CAUSE);
    expect(batches).toHaveLength(2);
    expect(new Set(batches).size).toBe(2);
  });
});
