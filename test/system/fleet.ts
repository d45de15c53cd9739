import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  clusterFilter,
  FIRST_PREVHASH,
  Heartbeat,
  type AgentConfig,
  type ClusterUid,
  type Fact,
  type MachinePlan,
} from '@fairlead/contracts';
import { mintNodeCredentials, type NodeSigning } from '@fairlead/embedded/credentials';
import { decode, JetStreamStore, readAll } from '@fairlead/event-sourcing/jetstream';
import { eventually } from '@fairlead/testing';
import pg from 'pg';
import { NatsPlatform } from '../../apps/node-agent/src/adapters/nats/nats.platform.js';
import { sharedMetronome } from '../../apps/node-agent/src/time/metronome.js';
import type { System } from './system.js';

const NAMESPACE = 'default';
const NODES_OF_CLUSTER = 100;
const STARTS_AT_ONCE = 25;
const JITTER = 0.1;
const CREDENTIAL_SECONDS = 7_200;
const ROWS_TIMEOUT_MS = 60_000;
/** Interval at which agents without a desired state request it again. */
const ASK_AGAIN_MS = 5_000;

interface FleetAgent {
  readonly name: string;
  readonly platform: NatsPlatform;
  readonly stop: () => void;
}

/** When an agent was connected, and when the services had answered it, after NATS was back. Milliseconds. */
export interface Return {
  readonly connectedMs: number;
  readonly answeredMs: number;
}

/**
 * The connections of many agents in one process: the agent's own code for NATS, each with its own credential,
 * heartbeats, and a request for the desired state after each connect. There are no hosts.
 */
export class Fleet {
  private readonly connectedAtMs = new Map<string, number>();
  private readonly answeredAtMs = new Map<string, number>();
  private stopping = false;

  private constructor(
    private readonly system: System,
    private readonly clusters: ReadonlyMap<string, readonly string[]>,
    private readonly heartbeatMs: number,
  ) {}

  private readonly agents: FleetAgent[] = [];

  /** Starts this many agents; resolves when upgrade-svc monitors all of them. */
  static async of(
    system: System,
    { agents, heartbeatMs }: { readonly agents: number; readonly heartbeatMs: number },
  ): Promise<Fleet> {
    const clusters = new Map<string, readonly string[]>();
    for (let first = 0; first < agents; first += NODES_OF_CLUSTER) {
      const cluster = `fleet-${clusters.size + 1}`;
      const count = Math.min(NODES_OF_CLUSTER, agents - first);
      clusters.set(
        cluster,
        Array.from({ length: count }, (_, index) => `${cluster}-w-${index + 1}-aaaaa`),
      );
    }
    const fleet = new Fleet(system, clusters, heartbeatMs);
    await fleet.start();
    return fleet;
  }

  get size(): number {
    return this.agents.length;
  }

  /** Ends one agent permanently. */
  async end(index: number): Promise<string> {
    const [agent] = this.agents.splice(index, 1);
    if (agent === undefined) throw new Error(`there is no agent ${index}`);
    agent.stop();
    await agent.platform.close();
    return agent.name;
  }

  /** Resets the records: from now on the next connect and answer of each agent are recorded. */
  forget(): void {
    this.connectedAtMs.clear();
    this.answeredAtMs.clear();
  }

  /** Resolves when all have been answered since `forget`; throws at the deadline. */
  async returned(sinceMs: number, timeoutMs: number): Promise<readonly Return[]> {
    await eventually(
      () => this.answeredAtMs.size,
      (count) => count >= this.agents.length,
      { withinMs: timeoutMs, what: `answers to ${this.agents.length} agents` },
    );
    return this.agents.map(({ name }) => ({
      connectedMs: (this.connectedAtMs.get(name) ?? NaN) - sinceMs,
      answeredMs: (this.answeredAtMs.get(name) ?? NaN) - sinceMs,
    }));
  }

  /**
   * Nodes that the log reports as lost. Over a separate connection: NATS may have been down for longer than others
   * retry.
   */
  async lost(): Promise<readonly string[]> {
    const nc = await this.system.environment.connect();
    try {
      const lost: string[] = [];
      for (const cluster of this.clusters.keys())
        for await (const batch of readAll(nc, clusterFilter(NAMESPACE, cluster), 0))
          for (const { subject, seq, bytes } of batch) {
            const event = decode(subject, seq, bytes);
            if (event?.type === 'NodeLost') lost.push(event.data.node);
          }
      return lost;
    } finally {
      await nc.close();
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const { stop } of this.agents) stop();
    await Promise.all(this.agents.map(({ platform }) => platform.close()));
  }

  private async start(): Promise<void> {
    const { environment, admin } = this.system;
    const signing = JSON.parse(readFileSync(environment.nats.nodeSigningFile ?? '', 'utf8')) as NodeSigning;
    const store = new JetStreamStore({ nc: admin, source: '/infra-svc', now: () => new Date(), newId: randomUUID });
    for (const [cluster, nodes] of this.clusters) {
      const uid = randomUUID() as ClusterUid;
      await plan(store, { cluster, uid, nodes });
      await this.untilRows(cluster, nodes.length, '');
      for (let first = 0; first < nodes.length; first += STARTS_AT_ONCE) {
        const some = nodes.slice(first, first + STARTS_AT_ONCE);
        await Promise.all(some.map((node) => this.startAgent(signing, { cluster, uid, node })));
      }
      await this.untilRows(cluster, nodes.length, 'and agent_started');
    }
  }

  private async startAgent(
    signing: NodeSigning,
    { cluster, uid, node }: { readonly cluster: string; readonly uid: ClusterUid; readonly node: string },
  ): Promise<void> {
    const address = { namespace: NAMESPACE, cluster, node };
    const { url } = this.system.environment.nats;
    const config = { ...address, uid, natsUrls: [url] } as unknown as AgentConfig;
    const credentials = mintNodeCredentials(signing, { ...address, expiresInSeconds: CREDENTIAL_SECONDS });
    const platform = new NatsPlatform({ config, credentials, random: Math.random, log: () => undefined });
    await new Promise<void>((resolve) => platform.onConnected(resolve));
    const software = { kubelet: '1.34.4' };
    const data = { uid, node, revision: 1, software, os: 'Debian', kernel: '6.12', bootId: 'boot', changed: [] };
    // From then on upgrade-svc expects its heartbeats.
    const { rejected } = await platform.state('NodeInitialized', {
      id: randomUUID(),
      time: new Date().toISOString(),
      desired: null,
      data,
    });
    if (rejected !== null) throw new Error(`what ${node} says is rejected: ${rejected}`);
    platform.onConnected(() => {
      this.connectedAtMs.set(node, performance.now());
      void this.ask(platform, node);
    });
    const jitter = { jitter: JITTER, random: Math.random };
    const beat = beatOf(uid, node);
    const stop = sharedMetronome.every(this.heartbeatMs, jitter, () => {
      platform.sendHeartbeat({ ...beat, at: new Date().toISOString() });
      platform.ping();
    });
    this.agents.push({ name: node, platform, stop });
  }

  private async ask(platform: NatsPlatform, node: string): Promise<void> {
    while (!this.stopping && platform.isConnected()) {
      try {
        await platform.sync(false);
        this.answeredAtMs.set(node, performance.now());
        return;
      } catch {
        await new Promise<void>((resolve) => void sharedMetronome.after(ASK_AGAIN_MS, resolve));
      }
    }
  }

  private async untilRows(cluster: string, count: number, condition: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.system.environment.databases['upgrade-svc'] });
    await client.connect();
    try {
      await eventually(
        async () => {
          const query = `select count(*)::int as count from nodes where key like $1 ${condition}`;
          const { rows } = await client.query<{ count: number }>(query, [`${NAMESPACE}/${cluster}/%`]);
          return rows[0]?.count === count;
        },
        { withinMs: ROWS_TIMEOUT_MS, everyMs: 50, what: `${count} rows of ${cluster}` },
      );
    } finally {
      await client.end();
    }
  }
}

/** Nodes in the services' rows, without machines and further work. */
const plan = async (
  store: JetStreamStore,
  { cluster, uid, nodes }: { readonly cluster: string; readonly uid: ClusterUid; readonly nodes: readonly string[] },
): Promise<void> => {
  const machines = nodes.map((name) => ({
    name,
    role: 'worker',
    pool: 'w',
    leader: false,
    connection: 'lab',
    spec: 'lab.medium',
    rootDisk: { type: 'default', size: 'default' },
  })) as unknown as readonly MachinePlan[];
  const fact = { type: 'VmsPlanned', data: { uid, machines } } as Fact<'VmsPlanned'>;
  const stream = { namespace: NAMESPACE, cluster, context: 'machines' };
  await store.append(stream, { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }, [fact], {
    actor: 'system/infra-svc',
    correlationId: 'fleet',
    causationId: 'fleet',
  });
};

const beatOf = (uid: ClusterUid, node: string): Heartbeat =>
  Heartbeat.parse({
    uid,
    node,
    at: new Date().toISOString(),
    bootId: 'boot',
    agentVersion: '0.1.0',
    revision: 1,
    ready: true,
    kubernetesReady: true,
    software: { kubelet: '1.34.4' },
  });
