import { randomUUID } from 'node:crypto';
import { EVERY_EVENT, FIRST_PREVHASH, storedSubject, type StoredEvent } from '@fairlead/contracts';
import { JetStreamStore, readAll } from '@fairlead/event-sourcing/jetstream';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { NatsCluster, type NatsServerName } from './system/nats.cluster.js';
import { saidTwice } from './system/said.twice.js';
import { clusterBody, startSystem, type System } from './system/system.js';

const CREATE_TIMEOUT_MS = 240_000;
const CATCH_UP_TIMEOUT_MS = 60_000;
const TIMEOUT_MS = 3 * CREATE_TIMEOUT_MS;
const STORES = ['EVENTS', 'AGENT_FACTS', 'DLQ', 'SECRETS', 'SECRET_KEYS', 'PUBLISHED_NAMES', 'HELD_NAMES', 'SNAPSHOTS'];
const NAMESPACE_EVERY_MS = 150;
const built = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';

interface Asked {
  readonly namespace: string;
  readonly seq: number;
}

/** Creates one namespace after another, each retried until it is created, like a pipeline. */
class Pipeline {
  private running = true;
  readonly made: Asked[] = [];
  private readonly loop: Promise<void>;

  constructor(private readonly system: System) {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.running = false;
    await this.loop;
  }

  private async run(): Promise<void> {
    for (let n = 0; this.running; n += 1) {
      this.made.push(await this.make(`team-${n}`));
      await sleep(NAMESPACE_EVERY_MS);
    }
  }

  private async make(namespace: string): Promise<Asked> {
    const key = { 'idempotency-key': randomUUID() };
    for (;;) {
      const { status, headers } = await this.system.call('POST', '/ns', { name: namespace }, key);
      if (status < 300) return { namespace, seq: Number(headers.get('x-fairlead-seq')) };
      if (status < 500) throw new Error(`${namespace}: ${status}`);
      await sleep(NAMESPACE_EVERY_MS);
    }
  }
}

describe('three NATS servers, one of which is killed and another loses its disk', () => {
  let folder: string;
  let nats: NatsCluster;
  let system: System;
  const pushed = new Set<number>();

  beforeAll(async () => {
    folder = newFolder('replicated-nats');
    nats = await NatsCluster.start(folder);
  }, 120_000);

  afterAll(async () => {
    try {
      await system?.stop();
    } finally {
      await nats?.stop();
      removeFolder(folder);
    }
  }, 60_000);

  const leader = async (): Promise<NatsServerName> => {
    const manager = await nats.manager();
    const name = await eventually(
      async () =>
        (await manager.streams.info('EVENTS').catch(() => undefined))?.cluster?.leader as NatsServerName | undefined,
      { withinMs: CATCH_UP_TIMEOUT_MS, everyMs: 100 },
    );
    return name;
  };
  const untilInSync = (): Promise<unknown> =>
    eventually(
      async () => (await nats.provisionStores()).map(({ name, replicas, inSync }) => `${name} ${inSync}/${replicas}`),
      (found) => found.every((text) => text.endsWith(' 3/3')),
      { withinMs: CATCH_UP_TIMEOUT_MS, everyMs: 1_000 },
    );
  const create = async (name: string): Promise<void> => {
    const key = { 'idempotency-key': randomUUID() };
    const body = clusterBody(name, { controlPlanes: 1, workers: 1 });
    const answer = await eventually(
      () => system.call('POST', '/ns/default/clusters', body, key),
      ({ status }) => status < 500,
      { withinMs: 30_000, everyMs: 250 },
    );
    expect([name, answer.status]).toEqual([name, 202]);
  };
  const gauge = async (store: string, state: string): Promise<number> => {
    const { body } = await system.call<string>('GET', '/metrics');
    const has = (line: string, label: string, value: string): boolean => line.includes(`${label}="${value}"`);
    const line = body
      .split('\n')
      .filter((one) => one.startsWith('fairlead_store_replicas{'))
      .find((one) => has(one, 'store', store) && has(one, 'state', state));
    return Number(line?.split(' ').at(-1));
  };

  it('have three replicas of every store after "fairlead provision stores --replicas 3", which lowers none', async () => {
    const single = await nats.provisionStores();
    expect(single.map(({ name, replicas, notes }) => [name, replicas, notes])).toEqual(
      STORES.map((name) => [name, 1, ['created']]),
    );
    await expect(nats.provisionStores('--replicas', '5')).rejects.toThrow(
      /the NATS cluster \\"fairlead\\" has fewer than 5 servers with JetStream and room.*Nothing was changed/s,
    );
    const raised = await nats.provisionStores('--replicas', '3');
    expect(raised.map(({ name, replicas }) => [name, replicas])).toEqual(STORES.map((name) => [name, 3]));
    await untilInSync();
    // With a lower number nothing is lowered, and the difference is shown.
    const table = await nats.provisionStoresTable('--replicas', '1');
    for (const name of STORES)
      expect(table).toMatch(
        new RegExp(`^${name} .* 3 +3 of 3 +3 replicas kept, because replicas are never lowered: 1 asked for$`, 'm'),
      );
    expect((await nats.provisionStores('--replicas', '3')).flatMap(({ notes }) => notes)).toEqual([]);
  }, 180_000);

  it(
    'lose and duplicate no event, and the clusters being created become Ready',
    async () => {
      system = await startSystem({ environment: nats.environment(), lab: true, light: true });
      expect((await system.call('POST', '/ns', { name: 'default' })).status).toBeLessThan(300);
      system.admin.subscribe(storedSubject(EVERY_EVENT), {
        callback: (_error, { headers }) => void pushed.add(Number(headers?.get('Nats-Sequence'))),
      });
      await create('one');
      await create('two');
      const pipeline = new Pipeline(system);
      await system.until('one', ({ type }) => type === 'VmsCreated', CREATE_TIMEOUT_MS);

      // The leader of the log dies, and stays down.
      const first = await leader();
      await nats.kill(first);
      await create('three');
      for (const name of ['one', 'two', 'three'])
        expect([name, (await system.until(name, built, CREATE_TIMEOUT_MS)).type]).toEqual([name, 'ClusterReady']);
      await eventually(
        () => gauge('EVENTS', 'in_sync'),
        (value) => value === 2,
        { withinMs: CATCH_UP_TIMEOUT_MS, everyMs: 1_000 },
      );
      // No service lowered one when it started.
      for (const store of STORES) expect([store, await gauge(store, 'configured')]).toEqual([store, 3]);

      // Its disk is lost, too. It is restored from the others, and then the next leader dies.
      nats.wipe(first);
      await nats.resume(first);
      await untilInSync();
      const second = await leader();
      await create('four');
      await system.until('four', ({ type }) => type === 'VmsPlanned', CREATE_TIMEOUT_MS);
      await nats.kill(second);
      expect((await system.until('four', built, CREATE_TIMEOUT_MS)).type).toBe('ClusterReady');
      await pipeline.stop();
      await nats.resume(second);
      await untilInSync();

      const nc = await nats.connect();
      const stored: number[] = [];
      for await (const batch of readAll(nc, EVERY_EVENT, 0)) stored.push(...batch.map(({ seq }) => seq));
      expect(stored).toEqual(stored.map((_, index) => index + 1));
      expect([...pushed].filter((seq) => seq > stored.length)).toEqual([]);
      const store = new JetStreamStore({ nc, source: '/test', now: () => new Date(), newId: randomUUID });
      const entries = await store.entries(EVERY_EVENT, 0);
      const last = new Map<string, string>();
      for (const { event, hash } of entries) {
        expect(event).toBeDefined();
        const { namespace, cluster, context, prevHash, seq } = event!.meta;
        const stream = `${namespace}/${cluster}/${context}`;
        expect([seq, prevHash]).toEqual([seq, last.get(stream) ?? FIRST_PREVHASH]);
        last.set(stream, hash);
      }
      expect(new Set(entries.map(({ event }) => event!.meta.id)).size).toBe(entries.length);
      for (const name of ['one', 'two', 'three', 'four']) {
        const events = await system.events(name);
        expect([name, saidTwice(events)]).toEqual([name, []]);
        expect(events.filter(({ type }) => type === 'VmCreated')).toHaveLength(2);
      }
      expect(await system.made()).toMatchObject({ machine: 8, network: 1, firewall: 1, sshKey: 1 });

      // Every response about a created namespace has its event, once.
      const made = entries.filter(({ event }) => event?.type === 'NamespaceCreated');
      const bySeq = new Map(made.map(({ event }) => [event!.meta.seq, event!.meta.namespace]));
      for (const { namespace, seq } of pipeline.made) {
        expect([namespace, bySeq.get(seq)]).toEqual([namespace, namespace]);
        expect(made.filter(({ event }) => event?.meta.namespace === namespace)).toHaveLength(1);
      }
      // The server that lost its disk has the whole log by itself.
      await (
        await nats.connect()
      ).request('$JS.API.STREAM.LEADER.STEPDOWN.EVENTS', JSON.stringify({ placement: { preferred: first } }));
      const manager = await nats.manager();
      await eventually(leader, (name) => name === first, { withinMs: CATCH_UP_TIMEOUT_MS, everyMs: 250 });
      const { state } = await manager.streams.info('EVENTS');
      expect([state.first_seq, state.last_seq >= stored.length, state.num_deleted ?? 0]).toEqual([1, true, 0]);
      for (const seq of [1, Math.ceil(stored.length / 2), stored.length])
        expect((await manager.streams.getMessage('EVENTS', { seq }))?.seq).toBe(seq);
    },
    TIMEOUT_MS,
  );
});
