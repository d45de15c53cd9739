import {
  EVERY_EVENT,
  FIRST_PREVHASH,
  partitionFilter,
  partitionOf,
  type ClusterUid,
  type NodeName,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { readBatch, type RawEvent } from './direct.reader.js';
import { encode } from './envelope.codec.js';
import { readPass } from './log.pass.js';
import { ensureStreams } from './streams.js';

/** More than are in transit at once. */
const EVENTS = 9_500;
const UID = '00000000-0000-4000-8000-000000000000' as ClusterUid;

let environment: TestEnvironment;
let admin: NatsConnection;
/** With the permissions of a service. */
let nc: NatsConnection;

const clusterAt = (index: number): string => `c-${index % 50}`;

beforeAll(async () => {
  environment = await testEnvironment();
  admin = await environment.connect('admin');
  nc = await environment.connect('upgrade-svc');
  await ensureStreams(admin);
  const cause = { actor: 'system/bootstrap-svc', correlationId: 'x', causationId: 'x' };
  const append = async (index: number): Promise<void> => {
    const stream = { namespace: 'default', cluster: clusterAt(index), context: 'bootstrap' };
    const fact = { type: 'WorkerJoined', data: { uid: UID, node: `w${index}` as NodeName } } as const;
    const stamp = { id: `e-${index}`, time: '2026-01-01T00:00:00.000Z', source: '/bootstrap-svc', cause };
    const { subject, bytes } = encode(stream, { seq: 0, streamVersion: index, hash: FIRST_PREVHASH }, fact, stamp);
    await admin.request(subject, bytes, { timeout: 60_000 });
  };
  for (let first = 0; first < EVENTS; first += 500)
    await Promise.all(Array.from({ length: 500 }, (_none, index) => append(first + index)));
});

afterAll(() => environment.stop());

const all = async (filter: string, after: number): Promise<readonly RawEvent[]> => {
  const found: RawEvent[] = [];
  for await (const batch of readPass(nc, filter, after)) found.push(...batch);
  return found;
};

const consumers = async (): Promise<number> => {
  const answer = await admin.request('$JS.API.STREAM.INFO.EVENTS');
  return answer.json<{ state: { consumer_count: number } }>().state.consumer_count;
};

describe('a pass over the log', () => {
  it('reads every message after a sequence once, in order, like a direct get', async () => {
    const found = await all(EVERY_EVENT, 10);
    expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: EVENTS - 10 }, (_none, index) => index + 11));
    expect(found.slice(0, 100)).toEqual(await readBatch(nc, EVERY_EVENT, 10, 100));
    expect(found.slice(-100)).toEqual(await readBatch(nc, EVERY_EVENT, EVENTS - 100, 100));
  });

  it('reads what matches a filter', async () => {
    const partition = partitionOf('default', clusterAt(0));
    const expected = await readBatch(nc, partitionFilter(partition), 0, EVENTS);
    expect(await all(partitionFilter(partition), 0)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(100);
  });

  it('is empty at the end of the log', async () => {
    expect(await all(EVERY_EVENT, EVENTS)).toEqual([]);
  });

  it('leaves no consumer behind, even if its reader stops early', async () => {
    for await (const batch of readPass(nc, EVERY_EVENT, 0)) {
      expect(batch[0]?.seq).toBe(1);
      expect(await consumers()).toBe(1);
      break;
    }
    await nc.flush();
    expect(await consumers()).toBe(0);
  });
});
