import {
  EVENTS,
  FIRST_PREVHASH,
  inboxPrefix,
  nodePermissions,
  parseEventSubject,
  streamSubject,
  type Fact,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { ensureCredentials } from '@fairlead/embedded';
import { accountOfCreds, mintNodeCredentials } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { decode, ensureStreams, JetStreamStore, readAll, sha256 } from '@fairlead/event-sourcing/jetstream';
import { expect } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';

export interface Node {
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
}

/** A real NATS server with Fairlead's streams and credentials, in a temporary folder. */
export class LogEnvironment {
  private constructor(
    private readonly environment: TestEnvironment,
    readonly admin: NatsConnection,
  ) {}

  static async start(): Promise<LogEnvironment> {
    const environment = await testEnvironment();
    const admin = await environment.connect('admin', { maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    await ensureStreams(admin);
    return new LogEnvironment(environment, admin);
  }

  get url(): string {
    return this.environment.nats.url;
  }

  /** What bootstrap-svc mints for a node. */
  async credentials(node: Node): Promise<string> {
    const { signingSeedFile, credsFile } = ensureCredentials(this.environment.dataDir);
    return mintNodeCredentials({
      signingSeed: await readFile(signingSeedFile, 'utf8'),
      accountPublicKey: accountOfCreds(await readFile(credsFile('admin'), 'utf8')),
      name: `${node.namespace}/${node.cluster}/${node.node}`,
      permissions: nodePermissions(node),
    });
  }

  inboxPrefixOf({ namespace, cluster, node }: Node): string {
    return inboxPrefix(`${namespace}-${cluster}-${node}`);
  }

  /** Every event of a stream in order, with the chain checked: versions without a gap, hashes that fit, data of its schema. */
  async chainOf(stream: StreamId): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = [];
    let hash = FIRST_PREVHASH;
    for await (const batch of readAll(this.admin, `${streamSubject(stream)}.>`, 0)) {
      for (const { subject, seq, bytes } of batch) {
        const event = decode(subject, seq, bytes)!;
        expect(parseEventSubject(subject)?.type).toBe(event.type);
        EVENTS[event.type].data.parse(event.data);
        expect(event.meta.streamVersion).toBe(events.length + 1);
        expect(event.meta.prevHash).toBe(hash);
        hash = sha256(bytes);
        events.push(event);
      }
    }
    return events;
  }

  /** Appends as a service would; returns the event's id. */
  async append(stream: StreamId, fact: Fact): Promise<string> {
    const now = (): Date => new Date();
    const store = new JetStreamStore({ nc: this.admin, source: '/spec', now, newId: randomUUID });
    const read = await store.read(`${streamSubject(stream)}.>`, 0);
    const last = read.at(-1);
    const position = {
      seq: last?.event.meta.seq ?? 0,
      streamVersion: read.length,
      hash: last?.hash ?? FIRST_PREVHASH,
    };
    const cause = { actor: 'user/spec', correlationId: 'wish-1', causationId: 'wish-1' };
    const appended = await store.append(stream, position, [fact], cause);
    if (appended.kind === 'conflict') throw new Error('the spec lost a race with itself');
    return appended.events[0]!.meta.id;
  }

  killNats(): Promise<void> {
    return this.environment.killNats();
  }

  startNats(): Promise<void> {
    return this.environment.startNats();
  }

  stop(): Promise<void> {
    return this.environment.stop();
  }
}
