import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  CONNECTIONS_STREAM,
  Envelope,
  EVENTS,
  eventSubject,
  namespaceStream,
  partitionOf,
  scopeOf,
  type EventType,
  type StreamId,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { writerOf } from '../spec.js';
import { isUsualEnvelope } from './envelope.check.js';
import { decode, read } from './envelope.codec.js';
import { isDataError } from './data.errors.js';

const SAMPLES = fileURLToPath(new URL('../../../contracts/src/events/samples/', import.meta.url));
const TYPES = Object.keys(EVENTS) as EventType[];
const utf8 = new TextEncoder();
const bytesOf = (value: unknown): Uint8Array => utf8.encode(JSON.stringify(value));

type Data = Record<string, unknown>;
const sampleOf = (type: EventType): Data =>
  JSON.parse(readFileSync(`${SAMPLES}${type}.v${EVENTS[type].version}.json`, 'utf8')) as Data;

/** The stream to which an event with this data belongs. */
const placeOf = (type: EventType, data: Data): StreamId => {
  const { context } = EVENTS[type];
  const named = context.replace(/<(\w+)>/, (_all, field: string) => String(data[field]));
  switch (scopeOf(EVENTS[type])) {
    case 'installation':
      return { ...CONNECTIONS_STREAM, context: named };
    case 'namespace':
      return { ...namespaceStream(String(data['name'])), context: named };
    default:
      return { namespace: 'default', cluster: 'demo', context: named };
  }
};

const envelopeOf = (
  type: EventType,
  data: Data,
  change: Partial<Envelope> = {},
  at = placeOf(type, data),
): Envelope => {
  const { source, actor } = writerOf(placeOf(type, data), type);
  return {
    specversion: '1.0',
    id: 'e-1',
    source,
    type: `${type}.v${EVENTS[type].version}`,
    subject: `${at.namespace}/${at.cluster}`,
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    dataschema: `fairlead:events/${type}.v${EVENTS[type].version}`,
    correlationid: 'c-1',
    causationid: 'c-1',
    actor,
    streamversion: 1,
    prevhash: '0'.repeat(64),
    data,
    ...change,
  };
};

const reasonOf = (subject: string, bytes: Uint8Array): string => {
  const decoded = read(subject, 7, bytes);
  return decoded.kind === 'rejected' ? decoded.rejection.reason : decoded.kind;
};

const uid = '00000000-0000-4000-8000-000000000000';
const ready = { uid, node: 'w1', revision: 1, software: { kubelet: '1.34.4' } };
const atW1: StreamId = { namespace: 'default', cluster: 'demo', context: 'node-w1' };
const readySubject = eventSubject(atW1, 'NodeReady');
const readyWith = (change: Partial<Envelope>): string =>
  reasonOf(readySubject, bytesOf(envelopeOf('NodeReady', ready, change)));

describe('a message on a subject of the log', () => {
  it('is an event for every type of the catalogue, if its writer states it', () => {
    expect(readdirSync(SAMPLES).length).toBe(TYPES.length);
    for (const type of TYPES) {
      const data = sampleOf(type);
      const subject = eventSubject(placeOf(type, data), type);
      expect([type, read(subject, 7, bytesOf(envelopeOf(type, data)))]).toMatchObject([
        type,
        { kind: 'event', event: { type, data, meta: { seq: 7 } } },
      ]);
    }
  });

  it("of a node is never a person's deletion of its cluster, whatever its body says", () => {
    const body = envelopeOf('ClusterDeletionRequested', { uid }, { actor: 'user/alice' });
    expect(reasonOf(readySubject, bytesOf(body))).toBe('type');
    expect(decode(readySubject, 7, bytesOf(body))).toBeUndefined();
  });

  it('of desired versions concerns no node other than that of its context', () => {
    const data = { ...ready, node: 'cp-1', changesAllowed: true };
    const at = { ...atW1, context: 'desired-w1' };
    const body = envelopeOf('DesiredVersionsSet', data, {}, at);
    expect(reasonOf(eventSubject(at, 'DesiredVersionsSet'), bytesOf(body))).toBe('names');
  });

  it.each([
    ['another type', { type: 'NodeNotReady.v1' }, 'type'],
    ['a type without a version', { type: 'NodeReady' }, 'type'],
    ['a version of a newer release', { type: 'NodeReady.v2' }, 'newer-version'],
    ['another writer', { source: '/gateway' }, 'source'],
    ['another node as its writer', { source: '/node-agent/w2' }, 'source'],
    ['another actor', { actor: 'user/alice' }, 'actor'],
    ['another node as its actor', { actor: 'node/w2' }, 'actor'],
    ['another cluster', { subject: 'default/other' }, 'names'],
    ['another node', { data: { ...ready, node: 'w2' } }, 'names'],
    ['data of another schema', { data: { ...ready, revision: 'first' } }, 'data'],
    ['data with something more', { data: { ...ready, role: 'admin' } }, 'data'],
    ['a field too many', { extra: 1 } as Partial<Envelope>, 'envelope'],
    ['a time that is none', { time: '2026-02-30T00:00:00.000Z' }, 'envelope'],
    ['version 0 of its stream', { streamversion: 0 }, 'envelope'],
  ])('is rejected with %s', (_what, change, reason) => {
    expect(readyWith({})).toBe('event');
    expect(readyWith(change)).toBe(reason);
  });

  it.each([
    ['not JSON', utf8.encode('not json'), 'not-json'],
    ['nothing', new Uint8Array(), 'not-json'],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'not-json'],
    ['null', utf8.encode('null'), 'envelope'],
    ['a number', utf8.encode('1e400'), 'envelope'],
    ['deeply nested', utf8.encode('['.repeat(20_000) + ']'.repeat(20_000)), 'too-deep'],
    ['900 kB', bytesOf(envelopeOf('NodeReady', { ...ready, software: { kubelet: 'x'.repeat(900_000) } })), 'too-large'],
  ])('is rejected if it is %s', (_what, bytes, reason) => {
    expect(reasonOf(readySubject, bytes)).toBe(reason);
  });

  it('is rejected if its subject is not that of its type', () => {
    const bytes = bytesOf(envelopeOf('NodeReady', ready));
    const wrong = (partitionOf('default', 'demo') + 1) % 16;
    expect(reasonOf(`evt.${wrong}.default.demo.node-w1.NodeReady`, bytes)).toBe('subject');
    expect(reasonOf(eventSubject({ ...atW1, context: 'request' }, 'NodeReady'), bytes)).toBe('context');
    expect(reasonOf(eventSubject({ ...atW1, context: 'node-W_1' }, 'NodeReady'), bytes)).toBe('context');
    expect(reasonOf(eventSubject({ ...atW1, cluster: '_' }, 'NodeReady'), bytes)).toBe('subject');
    expect(reasonOf(`${readySubject}.More`, bytes)).toBe('subject');
    expect(reasonOf(eventSubject(atW1, 'NodeSinging'), utf8.encode('not json'))).toBe('unknown');
  });

  it('in the stream of a cluster registers no connection and creates no namespace', () => {
    for (const type of TYPES) {
      if (!['installation', 'namespace'].includes(scopeOf(EVENTS[type]))) continue;
      const data = sampleOf(type);
      const at = { ...placeOf(type, data), namespace: 'default', cluster: 'demo' };
      expect([type, reasonOf(eventSubject(at, type), bytesOf(envelopeOf(type, data, {}, at)))]).toEqual([
        type,
        'subject',
      ]);
    }
  });

  it('that was written before text was validated can be stored: unsupported characters are replaced', () => {
    const data = { name: 'team-a', description: 'a\u0000b \ud800 \u{1F6A2}' };
    const subject = eventSubject(namespaceStream('team-a'), 'NamespaceCreated');
    expect(decode(subject, 1, bytesOf(envelopeOf('NamespaceCreated', data)))?.data).toEqual({
      name: 'team-a',
      description: 'a\uFFFDb \uFFFD \u{1F6A2}',
    });
    const escaped = { name: 'team-a', description: String.raw`a\u0000b` };
    expect(decode(subject, 1, bytesOf(envelopeOf('NamespaceCreated', escaped)))?.data).toEqual(escaped);
  });

  it('never makes its reader fail, whatever its bytes and its subject are', () => {
    const subjects = fc.constantFrom(...TYPES).map((type) => eventSubject(placeOf(type, sampleOf(type)), type));
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.json({ maxDepth: 5 }).map((text) => utf8.encode(text)),
      fc
        .record(Object.fromEntries(Object.keys(Envelope.shape).map((key) => [key, fc.anything()])), {
          requiredKeys: [],
        })
        .map((value) =>
          utf8.encode(JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? 1 : inner))),
        ),
    );
    fc.assert(
      fc.property(subjects, bodies, (subject, bytes) => {
        expect(read(subject, 1, bytes).kind).toBe('rejected');
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.string(), fc.uint8Array(), (subject, bytes) => read(`evt.${subject}`, 1, bytes).kind !== 'event'),
    );
  });
});

describe('an event with one field of another subject', () => {
  /** Every name in its data by which an event could refer to something other than its subject. */
  const foreign = { node: 'foreign-1', connection: 'foreign', service: 'infra-svc', name: 'foreign' };

  const fieldOf = (type: EventType): keyof typeof foreign | undefined =>
    scopeOf(EVENTS[type]) === 'namespace'
      ? 'name'
      : (/<(\w+)>/.exec(EVENTS[type].context)?.[1] as keyof typeof foreign | undefined);

  it.each(TYPES.filter((type) => fieldOf(type) !== undefined))('%s is rejected if its subject has another', (type) => {
    const data = sampleOf(type);
    const field = fieldOf(type)!;
    const changed = { ...data, [field]: foreign[field] };
    const subject = eventSubject(placeOf(type, data), type);
    expect(reasonOf(subject, bytesOf(envelopeOf(type, data, { data: changed })))).toBe('names');
  });
});

describe('the fast path for an envelope', () => {
  it('accepts nothing that the schema rejects', () => {
    const usual = envelopeOf('NodeReady', ready);
    const time = fc
      .record({ y: fc.nat(9_999), m: fc.nat(13), d: fc.nat(32), h: fc.nat(25), s: fc.nat(61) })
      .map(({ y, m, d, h, s }) => {
        const two = (number: number): string => String(number).padStart(2, '0');
        return `${String(y).padStart(4, '0')}-${two(m)}-${two(d)}T${two(h)}:00:${two(s)}.000Z`;
      });
    const change = fc.record(
      {
        ...Object.fromEntries(Object.keys(usual).map((key) => [key, fc.oneof(fc.anything(), fc.constant(''))])),
        time: fc.oneof(time, fc.string()),
        more: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(change, (changed) => {
        const value = { ...usual, ...changed };
        if (isUsualEnvelope(value)) expect(Envelope.safeParse(value).success).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts what services and agents write', () => {
    expect(isUsualEnvelope(envelopeOf('NodeReady', ready))).toBe(true);
    for (const day of ['01-31', '02-28', '04-30', '12-31'])
      expect(isUsualEnvelope(envelopeOf('NodeReady', ready, { time: `2026-${day}T23:59:59.999Z` }))).toBe(true);
  });
});

describe('a data error', () => {
  it('is distinguished from an outage by its PostgreSQL code', () => {
    const sql = (code: string): Error => Object.assign(new Error('sql'), { code });
    for (const code of ['22P05', '22P02', '23505', '23514', '54000', '21000'])
      expect([code, isDataError(sql(code))]).toEqual([code, true]);
    for (const code of ['57P01', '08006', '40001', '53300', 'ECONNREFUSED', 'EPIPE'])
      expect([code, isDataError(sql(code))]).toEqual([code, false]);
    expect([isDataError(new SyntaxError()), isDataError(new Error('no')), isDataError('22P05')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
