import { CONNECTIONS_STREAM, isRefusal, ExternalFailure, type SecretRef } from '@fairlead/contracts';
import { makeHandle } from '@fairlead/event-sourcing/jetstream';
import { describe, expect, it } from '@jest/globals';
import { LAB, registered } from '../../test/fixtures.js';
import { CALM, FakeCloud, FakeProvider } from '../../test/fake.provider.js';
import { MemoryLog } from '../../test/memory.log.js';
import { MemorySecrets } from '../../test/memory.service.js';
import { readSettings } from '../config.js';
import type { Connection, InfrastructureProvider } from '../providers/provider.ports.js';
import { ProviderOffers } from '../resources/offers.effects.js';
import { ResourcesLog } from '../resources/resources.log.effects.js';
import { NO_MEMORY } from '../watch/comparison.planner.js';
import { ProviderListing } from '../watch/listing.effects.js';
import { RegisteredConnections } from './connections.effects.js';
import { ConnectionEffects } from './verification.effects.js';

const BEFORE = 'http://before.example.org';
const NOW = 'http://now.example.org';

const signal = new AbortController().signal;
const cause = { actor: 'system/infra-svc', correlationId: 'c', causationId: 'c' };
const taskOf = (data: object = {}) => ({ cause, signal, data: { connection: LAB, ...data } }) as never;

const outcomes = { answers: async () => undefined, fails: async () => Promise.reject(failure()) };

const failure = () => new ExternalFailure({ operation: 'list machines', target: LAB, message: `${BEFORE} is away` });

/** A connection that is registered at another provider while the previous one is being called. */
class World {
  readonly log = new MemoryLog();
  readonly looked: unknown[] = [];
  readonly connections: RegisteredConnections;
  readonly effects: ConnectionEffects;
  readonly look: ProviderListing;
  private readonly known: number;

  static async of(outcome: keyof typeof outcomes): Promise<World> {
    const log = new MemoryLog();
    await log.say(CONNECTIONS_STREAM, registered({ settings: { endpoint: BEFORE } }));
    return new World(log, outcomes[outcome]);
  }

  private constructor(
    log: MemoryLog,
    private readonly outcome: () => Promise<void>,
  ) {
    this.log = log;
    this.known = log.events.length;
    const open = (connection: Connection) => this.open(connection);
    this.connections = new RegisteredConnections(log, new MemorySecrets(), new Map([['lab', { name: 'lab', open }]]));
    const offers = new ProviderOffers(new ResourcesLog(makeHandle(log)), this.connections, readSettings({}));
    this.effects = new ConnectionEffects(this.connections, offers);
    const queries = { recorded: async () => [], orphans: async () => [] };
    const findings = { record: async (...found: unknown[]) => void this.looked.push(found) };
    this.look = new ProviderListing(this.connections, queries, findings, readSettings({}));
  }

  /** The stated facts, without its registrations. */
  stated(): readonly unknown[] {
    return this.log.events.slice(this.known).flatMap(({ type }) => (type === 'ConnectionRegistered' ? [] : [type]));
  }

  private open({ settings }: Connection): InfrastructureProvider {
    const move = async (): Promise<void> => {
      await this.log.say(CONNECTIONS_STREAM, registered({ settings: { endpoint: NOW } }));
      await this.outcome();
    };
    const before = settings['endpoint'] === NOW ? CALM.before : move;
    return Object.assign(new FakeProvider(new FakeCloud(), { ...CALM, before }), { accept: move });
  }
}

describe('a connection that was registered again', () => {
  it('is opened at its current location by every caller', async () => {
    const { log, connections } = await World.of('answers');
    await connections.open(LAB);
    await log.say(CONNECTIONS_STREAM, registered({ settings: { endpoint: NOW } }));
    for (const open of [await connections.open(LAB), await connections.openOffered(LAB)])
      expect(open).toMatchObject({ connection: { settings: { endpoint: NOW } } });
    expect(await connections.offered(LAB)).toMatchObject({ settings: { endpoint: NOW } });
  });

  it('and removed is no longer offered to clusters, but still opened for its existing ones', async () => {
    const { log, connections } = await World.of('answers');
    await log.say(CONNECTIONS_STREAM, registered({ settings: { endpoint: NOW } }));
    await log.say(CONNECTIONS_STREAM, { type: 'ConnectionRemoved', data: { name: LAB } });
    expect(await connections.offered(LAB)).toBeUndefined();
    expect(await connections.openOffered(LAB)).toBeUndefined();
    expect(await connections.open(LAB)).toMatchObject({ connection: { settings: { endpoint: NOW } } });
  });

  it('with another credential is opened with that one', async () => {
    const { log, connections } = await World.of('answers');
    const secretRef = 'gateway.connection.lab' as SecretRef;
    await log.say(CONNECTIONS_STREAM, registered({ secretRef }));
    expect(isRefusal(await connections.open(LAB))).toBe(true);
  });
});

describe.each(['answers', 'fails'] as const)('a connection that is moved while its provider %s', (outcome) => {
  it('states nothing about the former location, and is verified at the current one', async () => {
    const world = await World.of(outcome);
    await world.effects.verify(taskOf());
    expect(world.stated()).toEqual([]);
    await world.effects.verify(taskOf());
    expect(world.stated()).toEqual(['ConnectionVerified']);
  });

  it('is checked again, without results of the former location', async () => {
    const { look, looked } = await World.of(outcome);
    expect(await look.look(LAB, new Map([['demo', 'absent']]), signal)).toBe(NO_MEMORY);
    expect(looked).toEqual([]);
    await look.look(LAB, NO_MEMORY, signal);
    expect(looked).toHaveLength(1);
  });
});

it('a host of a moved connection is accepted again if that was not recorded', async () => {
  const { effects } = await World.of('fails');
  await expect(effects.accept(taskOf({ host: 'rack-1', asOf: 1 }))).rejects.toThrow('is away');
});
