import {
  EVENTS,
  FIRST_PREVHASH,
  parseEventSubject,
  streamSubject,
  type Fact,
  type NodeAddress,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { ensureCredentials } from '@fairlead/embedded';
import { mintNodeCredentials, mintNodeJwt, type NodeSigning } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import {
  decode,
  ensureStreams,
  JetStreamStore,
  makeHandle,
  readAll,
  sha256,
  type Handle,
} from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { ServiceMetrics } from '@fairlead/service-kit';
import { expect } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { DataSource } from 'typeorm';
import { AgentCredentialsEffects } from '../../bootstrap-svc/src/hosts/agent.credentials.effects.js';
import { NatsAgents } from '../../upgrade-svc/src/adapters/nats/nats.agents.js';
import { FactsRecorder } from '../../upgrade-svc/src/agents/facts.effects.js';
import { FactsLog } from '../../upgrade-svc/src/agents/facts.log.effects.js';
import { RejectionReports } from '../../upgrade-svc/src/agents/rejections.effects.js';
import { AgentStates } from '../../upgrade-svc/src/agents/state.effects.js';
import type { NodeRow } from '../../upgrade-svc/src/nodes/nodes.projection.js';
import type { NodesQueries } from '../../upgrade-svc/src/nodes/nodes.queries.js';

export interface Node {
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
  readonly uid: string;
}

const LIFETIME_SECONDS = 3_600;

/**
 * A real NATS server with Fairlead's streams and credentials in a temporary folder, and the part of upgrade-svc that
 * agents communicate with.
 */
export class LogEnvironment {
  private readonly nodes = new Map<string, NodeRow>();
  private readonly channel: NatsAgents;
  private readonly recorder: FactsRecorder;
  private readonly states: AgentStates;

  private constructor(
    private readonly environment: TestEnvironment,
    readonly admin: NatsConnection,
    service: NatsConnection,
  ) {
    const now = (): Date => new Date();
    const handle = makeHandle(new JetStreamStore({ nc: service, source: '/upgrade-svc', now, newId: randomUUID }));
    const queries = { one: (node: Node) => Promise.resolve(this.nodes.get(keyOf(node))) } as unknown as NodesQueries;
    this.channel = new NatsAgents(service);
    const log = new FactsLog(this.channel, handle, { now });
    const reports = new RejectionReports(handle, new ServiceMetrics('upgrade-svc'));
    this.recorder = new FactsRecorder(this.channel, queries, log, reports);
    this.states = new AgentStates(this.channel, queries, log);
    this.recorder.onApplicationBootstrap();
    this.states.onApplicationBootstrap();
  }

  static async start(natsHost?: string): Promise<LogEnvironment> {
    const environment = await testEnvironment(natsHost === undefined ? {} : { natsHost });
    const forEver = { maxReconnectAttempts: -1, reconnectTimeWait: 50 };
    const admin = await environment.connect('admin', forEver);
    await ensureStreams(admin);
    return new LogEnvironment(environment, admin, await environment.connect('upgrade-svc', forEver));
  }

  get url(): string {
    return this.environment.nats.url;
  }

  /** The credentials that bootstrap-svc issues for a node managed by upgrade-svc. */
  async credentials(node: Node, expiresInSeconds = LIFETIME_SECONDS): Promise<string> {
    const signing = await this.signing();
    this.setKnown(node, true);
    return mintNodeCredentials(signing, { ...node, expiresInSeconds });
  }

  /** Sets whether upgrade-svc knows the node: until then, facts of its agent are neither recorded nor acknowledged. */
  setKnown(node: Node, known: boolean): void {
    const because = { eventId: 'spec', correlationId: 'spec' };
    if (known) this.nodes.set(keyOf(node), { ...node, because } as unknown as NodeRow);
    else this.nodes.delete(keyOf(node));
  }

  /** Starts the part of bootstrap-svc that renews credentials, for nodes that have some. */
  async renewCredentials(): Promise<void> {
    const signing = await this.signing();
    const expiresInSeconds = LIFETIME_SECONDS;
    const rows = (process: string, cluster: string): unknown[] =>
      [...this.nodes]
        .filter(([key]) => key.startsWith(`${cluster}/`))
        .map(([, { uid, node }]) => ({
          ...{ process, cluster_key: cluster, pieces: null },
          doc: { state: { status: 'ready', cluster: { uid, hosts: { [node]: {} } } } },
        }));
    // These nodes' users are in no event: the first one that each requests is recorded.
    const handle = (() => Promise.resolve({ kind: 'decided' })) as unknown as Handle;
    const database = {
      query: (_sql: string, [[process = ''] = [], [cluster = ''] = []]: string[][]) =>
        Promise.resolve(rows(process, cluster)),
    };
    const kit = {
      renewedClaims: (address: NodeAddress, user: string) =>
        mintNodeJwt(signing, { ...address, expiresInSeconds }, user),
      credentialLifetimeSeconds: expiresInSeconds,
      natsTrust: () => this.trust(),
    };
    const nats = await this.environment.connect('bootstrap-svc');
    new AgentCredentialsEffects(nats, database as unknown as DataSource, kit, handle).onApplicationBootstrap();
  }

  get dataDir(): string {
    return this.environment.dataDir;
  }

  /** Overrides the contents of the file. */
  authorities: string | undefined;

  /** The CA for agents, with the current contents of the file. */
  trust(): { readonly natsCa?: string } {
    const { caFile } = this.environment.nats;
    if (caFile === undefined) return {};
    return { natsCa: this.authorities ?? readFileSync(caFile, 'utf8') };
  }

  async restartNats(): Promise<void> {
    await this.environment.killNats();
    await this.environment.startNats();
  }

  private async signing(): Promise<NodeSigning> {
    const { nodeSigningFile } = ensureCredentials(this.environment.dataDir);
    return JSON.parse(await readFile(nodeSigningFile, 'utf8')) as NodeSigning;
  }

  /**
   * Every event of a stream in order, with verified chain: versions without gaps, matching hashes, data of its schema.
   */
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

  /** Appends like a service; returns the event's ID. */
  async append(stream: StreamId, fact: Fact): Promise<string> {
    const now = (): Date => new Date();
    const { source, actor } = writerOf(stream, fact.type);
    const store = new JetStreamStore({ nc: this.admin, source, now, newId: randomUUID });
    const read = await store.read(`${streamSubject(stream)}.>`, 0);
    const last = read.at(-1);
    const position = {
      seq: last?.event.meta.seq ?? 0,
      streamVersion: read.length,
      hash: last?.hash ?? FIRST_PREVHASH,
    };
    const cause = { actor, correlationId: 'request-1', causationId: 'request-1' };
    const appended = await store.append(stream, position, [fact], cause);
    if (appended.kind === 'conflict') throw new Error('the spec lost a race with itself');
    const [event] = appended.events;
    if (event?.type === 'DesiredVersionsSet')
      await this.states.desiredVersionsSet(event as StoredEvent<'DesiredVersionsSet'>);
    return event!.meta.id;
  }

  killNats(): Promise<void> {
    return this.environment.killNats();
  }

  startNats(): Promise<void> {
    return this.environment.startNats();
  }

  async stop(): Promise<void> {
    await this.recorder.beforeApplicationShutdown();
    await this.environment.stop();
  }
}

const keyOf = ({ namespace, cluster, node }: Node): string => `${namespace}/${cluster}/${node}`;
