import {
  AgentConfig,
  ExternalFailure,
  type AgentFactAnswer,
  type AgentFactMessage,
  type AgentStateMessage,
  type EventType,
} from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { Metronome } from '../time/metronome.js';
import type { AgentFact } from '../node/agent.facts.js';
import { node, uid } from './agent.fixtures.js';
import type { Platform } from './agent.ports.js';
import { newState } from './agent.state.js';
import { Journal, OUTBOX_LENGTH_MAX } from './journal.js';
import { loadState } from './state.store.js';

const SEEDS = 150;

const config = AgentConfig.parse({
  namespace: 'default',
  cluster: 'demo',
  uid,
  node,
  role: 'worker',
  natsUrls: ['nats://127.0.0.1:1'],
  heartbeatIntervalMs: 1_000,
  desired: { revision: 1, software: {}, changesAllowed: true },
  nodeLabels: {},
});

/** The services, which record each fact once, behind a network that loses requests and replies. */
class UnreliablePlatform {
  readonly recorded: { readonly type: EventType; readonly message: AgentFactMessage }[] = [];
  readonly rejected = new Set<string>();
  connected = true;
  private readonly callbacks: (() => unknown)[] = [];

  constructor(
    private readonly random: () => number,
    private readonly lossRate: number,
  ) {}

  onConnected(callback: () => unknown): void {
    this.callbacks.push(callback);
    if (this.connected) callback();
  }

  reconnect(): void {
    this.connected = true;
    for (const callback of this.callbacks) callback();
  }

  async state(type: EventType, message: AgentFactMessage): Promise<AgentFactAnswer> {
    await this.network();
    if (this.rejected.has(String(message.data['revision']))) return { id: message.id, rejected: 'it is not valid' };
    if (!this.recorded.some(({ message: one }) => one.id === message.id)) this.recorded.push({ type, message });
    // Recorded, but the reply is lost.
    await this.network();
    return { id: message.id, rejected: null };
  }

  async sync(): Promise<AgentStateMessage> {
    await this.network();
    return { desired: null, last: this.recorded.map(({ type, message: { data } }) => ({ type, data })) };
  }

  private async network(): Promise<void> {
    await Promise.resolve();
    if (!this.connected || this.random() < this.lossRate)
      throw new ExternalFailure({ operation: 'request', target: 'services', message: 'timeout' });
  }
}

const factOf = (revision: number): AgentFact => ({ type: 'NodeReady', data: { uid, node, revision, software: {} } });
const noLog = (): undefined => undefined;

/** Runs until the journal is idle. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 60; turn += 1) await Promise.resolve();
};

const revisionsOf = (platform: UnreliablePlatform): number[] =>
  platform.recorded.map(({ message }) => Number(message.data['revision']));

const never = <T>(): Promise<T> => new Promise(() => undefined);

/** One life of the agent's process. After its crash, nothing that it started reaches the disk or the services. */
class Life {
  private alive = true;

  crash(): void {
    this.alive = false;
  }

  /** The host's disk while the process lives. */
  disk(host: MemoryHost): MemoryHost {
    const isAlive = (): boolean => this.alive;
    return Object.assign(Object.create(host) as MemoryHost, {
      writeFile: (path: string, text: string) => (isAlive() ? host.writeFile(path, text) : never<void>()),
      rename: (from: string, to: string) => (isAlive() ? host.rename(from, to) : never<void>()),
    });
  }

  connection(platform: UnreliablePlatform): Platform {
    const whileAlive = <T>(work: () => Promise<T>): Promise<T> => (this.alive ? work() : never());
    return {
      onConnected: (callback) => platform.onConnected(() => this.alive && callback()),
      isConnected: () => platform.connected,
      isSynced: () => false,
      state: (type, message) => whileAlive(() => platform.state(type, message)),
      sync: () => whileAlive(() => platform.sync()),
      onDesired: () => undefined,
      sendHeartbeat: () => undefined,
      ping: () => undefined,
      renew: () => never(),
      useCredentials: () => undefined,
      useAuthorities: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
}

const open = async (
  host: MemoryHost,
  log: UnreliablePlatform,
  random: () => number,
  life: Life = new Life(),
): Promise<Journal> => {
  const state = (await loadState(host, uid, noLog)) ?? newState(uid);
  return new Journal(state, {
    config,
    host: life.disk(host),
    platform: life.connection(log),
    metronome: new Metronome(),
    clock: { now: () => new Date(0) },
    random,
    log: noLog,
    onDrained: noLog,
  });
};

describe('the facts that an agent decided on', () => {
  it(`are in the log once and in order, despite lost replies, crashes and outages (${SEEDS} seeds)`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed);
      const host = new MemoryHost();
      const log = new UnreliablePlatform(random, 0.25);
      let life = new Life();
      let journal = await open(host, log, random, life);
      let revision = 0;
      for (let step = 0; step < 40; step += 1) {
        const dice = random();
        if (dice < 0.4) await journal.record([factOf((revision += 1))], null);
        else if (dice < 0.5) log.connected = false;
        else if (dice < 0.75) log.reconnect();
        else if (dice < 0.85) {
          life.crash();
          life = new Life();
          journal = await open(host, log, random, life);
        }
        if (random() < 0.5) await settle();
      }
      for (let tries = 0; !journal.isDrained; tries += 1) {
        if (tries > 500) throw new Error(`seed ${seed}: never drained`);
        log.reconnect();
        await settle();
      }
      expect({ seed, said: revisionsOf(log) }).toEqual({
        seed,
        said: Array.from({ length: revision }, (_, n) => n + 1),
      });
      await journal.close();
    }
  });

  it('continue after the earlier ones when the local state is lost', async () => {
    const random = seededRandom(1);
    const log = new UnreliablePlatform(random, 0);
    const first = await open(new MemoryHost(), log, random);
    await first.record([factOf(1), factOf(2)], null);
    await settle();
    const second = await open(new MemoryHost(), log, random);
    await second.recover();
    expect(second.reported.standing).toEqual({ status: 'ready', revision: 2 });
    await second.record([factOf(3)], null);
    await settle();
    expect(revisionsOf(log)).toEqual([1, 2, 3]);
  });

  it(`are bounded while the log is away for long: the first, and the newest ${OUTBOX_LENGTH_MAX - 1}`, async () => {
    const random = seededRandom(1);
    const log = new UnreliablePlatform(random, 0);
    log.connected = false;
    const journal = await open(new MemoryHost(), log, random);
    for (let revision = 1; revision <= OUTBOX_LENGTH_MAX + 50; revision += 1)
      await journal.record([factOf(revision)], null);
    log.reconnect();
    for (let tries = 0; !journal.isDrained && tries < 100; tries += 1) await settle();
    const said = revisionsOf(log);
    expect(said).toHaveLength(OUTBOX_LENGTH_MAX);
    expect([said[0], said[1], said.at(-1)]).toEqual([1, 52, 250]);
  });

  it('do not block later ones if they are rejected', async () => {
    const log = new UnreliablePlatform(seededRandom(1), 0);
    log.rejected.add('2');
    const journal = await open(new MemoryHost(), log, seededRandom(1));
    await journal.record([factOf(1), factOf(2), factOf(3)], null);
    for (let tries = 0; !journal.isDrained && tries < 100; tries += 1) await settle();
    expect(revisionsOf(log)).toEqual([1, 3]);
  });

  it('belong to their cluster: the state of an earlier one is discarded', async () => {
    const random = seededRandom(1);
    const host = new MemoryHost();
    const log = new UnreliablePlatform(random, 0);
    const journal = await open(host, log, random);
    await journal.record([factOf(1)], null);
    const other = '22222222-2222-4222-8222-222222222222' as typeof uid;
    expect(await loadState(host, other, noLog)).toBeUndefined();
    expect(await loadState(host, uid, noLog)).toBeDefined();
    host.files.set('/var/lib/fairlead/agent-state.json', '{"half');
    expect(await loadState(host, uid, noLog)).toBeUndefined();
  });
});
