import { agentFactSubject, type EventType } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readStatedFact } from './fact.rules.js';
import { agentFacts } from './facts.decider.js';
import { MessageBudget } from './message.budget.js';

const W1 = { namespace: 'default', cluster: 'demo', node: 'demo-w-1-aaaaa' };
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const UID = '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10';
const ready = { uid: UID, node: W1.node, revision: 1, software: { kubelet: '1.34.4' } };

const message = (over: object = {}, data: object = ready): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ id: ID, time: '2026-01-01T00:00:00.000Z', desired: null, data, ...over }));
const read = (bytes: Uint8Array, type: EventType | 'Nonsense' = 'NodeReady') =>
  readStatedFact(agentFactSubject(W1, type as EventType), bytes);

/**
 * Any code point except surrogates. The unit 'binary' of fast-check first builds a table of all of them, which takes
 * seconds.
 */
const character = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point));

describe('a message of an agent', () => {
  it('states the fact of its subject about the node of its subject', () =>
    expect(read(message())).toEqual({
      kind: 'stated',
      address: W1,
      id: ID,
      time: '2026-01-01T00:00:00.000Z',
      desired: null,
      uid: UID,
      fact: { type: 'NodeReady', data: ready },
    }));

  it('ignores a type, an actor or a source in its body', () =>
    expect(
      read(message({ type: 'ClusterDeletionRequested.v1', actor: 'user/alice', source: '/gateway' })),
    ).toMatchObject({ kind: 'stated', fact: { type: 'NodeReady' } }));

  it.each([
    ['not JSON', new TextEncoder().encode('not json')],
    ['not UTF-8', Uint8Array.of(0x22, 0xff, 0xfe, 0x22)],
    ['null', new TextEncoder().encode('null')],
    ['nothing', new Uint8Array()],
    ['of another schema', message({}, { uid: UID, node: W1.node })],
    ['observed in the year 0', message({ time: '0000-01-01T00:00:00.000Z' })],
    ['observed in the year 9999', message({ time: '9999-12-31T23:59:59.999Z' })],
    ['nested deeply', new TextEncoder().encode(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)],
    ['too large', message({}, { ...ready, software: { kubelet: 'x'.repeat(40_000) } })],
    ['text that PostgreSQL cannot store', message({}, { ...ready, software: { kubelet: 'a\u0000b' } })],
    [
      'half a surrogate pair',
      new TextEncoder().encode(new TextDecoder().decode(message()).replace('1.34.4', '\\ud800')),
    ],
    [
      'a number that JSON has not',
      new TextEncoder().encode(new TextDecoder().decode(message()).replace(':1,', ':1e999,')),
    ],
  ])('is rejected if it is %s', (_what, bytes) =>
    expect(read(bytes)).toMatchObject({ kind: 'rejected', reason: 'invalid' }),
  );

  it.each(['0000-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '2201-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])(
    'is rejected if it states a time that not every reader can parse: %s',
    (time) => {
      const { uid, node } = { uid: UID, node: W1.node };
      const certificates = [{ name: 'apiserver', expiresAt: time }];
      expect(read(message({}, { uid, node, certificates }), 'CertificatesReported')).toMatchObject({
        kind: 'rejected',
        detail: 'CertificatesReported: certificates.0.expiresAt: must be a time from 1970 to 2200',
      });
    },
  );

  it('is rejected if it names another node, and its sender receives the reason', () =>
    expect(read(message({}, { ...ready, node: 'demo-w-2-bbbbb' }))).toMatchObject({ reason: 'other-node', id: ID }));

  it.each(['ClusterDeletionRequested', 'DesiredVersionsSet', 'NodeLost', 'Nonsense'] as const)(
    'is rejected on a subject of %s, which no agent states',
    (type) => expect(read(message(), type as EventType)).toMatchObject({ reason: 'invalid' }),
  );

  it('never crashes its reader, whatever its bytes and its subject', () =>
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: character })),
        fc.uint8Array({ maxLength: 2_000 }),
        fc.json(),
        (subject, bytes, json) => {
          for (const body of [bytes, new TextEncoder().encode(json)])
            for (const on of [subject, agentFactSubject(W1, 'NodeReady'), `agent.in.${subject}`])
              expect(['stated', 'rejected']).toContain(readStatedFact(on, body).kind);
        },
      ),
    ));
});

describe('facts of one node', () => {
  it('are recorded once each, however often they are sent', () => {
    const command = { type: 'RecordFact', data: { id: ID, fact: { type: 'NodeReady', data: ready } } } as never;
    expect(agentFacts.decide([], command)).toEqual([{ type: 'NodeReady', data: ready }]);
    expect(agentFacts.decide([ID], command)).toEqual([]);
  });

  it('have a budget that refills, separate from that of other nodes', () => {
    const budget = new MessageBudget();
    const spent = Array.from({ length: 300 }, () => budget.take('w1', 500, 0)).filter(Boolean).length;
    expect(spent).toBe(240);
    expect(budget.take('w2', 500, 0)).toBe(true);
    expect(budget.take('w1', 500, 9_000)).toBe(false);
    expect(budget.take('w1', 500, 20_000)).toBe(true);
    expect(Array.from({ length: 30 }, () => budget.take('w3', 32_768, 0)).filter(Boolean)).toHaveLength(16);
  });
});
