import {
  agentFactSubject,
  agentOutputSubject,
  FIRST_PREVHASH,
  type ClusterUid,
  type Fact,
  type MachinePlan,
} from '@fairlead/contracts';
import { authenticatorOf, mintNodeCredentials, type NodeSigning } from '@fairlead/embedded/credentials';
import { JetStreamStore } from '@fairlead/event-sourcing/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { startSystem, type System } from '../system/system.js';
import { countFigures, countsOf } from './counts.js';
import { distributionOf, lineOf, scaled, times, type Figure } from './figures.js';

const NODES = 25;
/** Below a node's burst limit (240). */
const FACTS_OF_NODE = 160;
const RATE_PER_SECOND = 100;
const SOFTWARE = { kubelet: '1.34.4' };
const GOAL_MS = 20;
const LOST_AFTER_MS = 60_000;

const ADDRESS = { namespace: 'default', cluster: 'facts' };
const uid = randomUUID() as ClusterUid;
const WATCHED = ['upgrade-svc', 'gateway'] as const;
type Watched = (typeof WATCHED)[number];

const planOf = (node: string): MachinePlan =>
  ({
    name: node,
    role: 'worker',
    pool: 'w',
    leader: false,
    connection: 'lab',
    spec: 'lab.medium',
    rootDisk: { type: 'default', size: 'default' },
  }) as MachinePlan;

/** Reports when a row of the nodes is committed: PostgreSQL notifies at the commit, so nothing is polled. */
class Commits {
  private readonly waiting = new Map<string, () => void>();

  private constructor(private readonly client: pg.Client) {}

  static async of(url: string): Promise<Commits> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`
      create or replace function bench_notify() returns trigger language plpgsql as
      $$ begin perform pg_notify('bench', new.key); return new; end $$`);
    await client.query(
      'create or replace trigger bench after insert or update on nodes for each row execute function bench_notify()',
    );
    await client.query('listen bench');
    const commits = new Commits(client);
    client.on('notification', ({ payload = '' }) => {
      commits.waiting.get(payload)?.();
      commits.waiting.delete(payload);
    });
    return commits;
  }

  /** Resolves at the next commit of the node's row. */
  next(node: string): Promise<void> {
    return new Promise((resolve) => this.waiting.set(`${ADDRESS.namespace}/${ADDRESS.cluster}/${node}`, resolve));
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

interface Parts {
  readonly system: System;
  readonly commits: Readonly<Record<Watched, Commits>>;
}

/** Connects as the node, with a credential like the one on its host. */
const connectNode = (system: System, node: string): Promise<NatsConnection> => {
  const { url, nodeSigningFile = '' } = system.environment.nats;
  const signing = JSON.parse(readFileSync(nodeSigningFile, 'utf8')) as NodeSigning;
  const credentials = mintNodeCredentials(signing, { ...ADDRESS, node, expiresInSeconds: 3_600 });
  return connect({ servers: url, authenticator: authenticatorOf(credentials), noAsyncTraces: true });
};

const factOf = (node: string, index: number): Pick<Fact, 'type' | 'data'> =>
  (index % 2 === 0
    ? { type: 'NodeReady', data: { uid, node, revision: 1, software: SOFTWARE } }
    : {
        type: 'NodeNotReady',
        data: { uid, node, revision: 1, reason: 'KubernetesNotReady', message: `for the ${index}th time` },
      }) as Pick<Fact, 'type' | 'data'>;

type Lags = Readonly<Record<Watched | 'answer', number[]>>;

/**
 * States one fact after another, each after the previous one is in both databases: a row does not show which fact
 * changed it.
 */
const stateFacts = async ({ system, commits }: Parts, node: string, lags: Lags): Promise<void> => {
  const nc = await connectNode(system, node);
  let answered: (answer: { readonly rejected: string | null }) => void = () => undefined;
  nc.subscribe(agentOutputSubject({ ...ADDRESS, node }, 'recorded'), {
    callback: (_error, message) => answered(message.json()),
  });
  await nc.flush();
  const intervalMs = (NODES * 1_000) / RATE_PER_SECOND;
  await new Promise((resolve) => setTimeout(resolve, Math.random() * intervalMs));
  for (let index = 0; index < FACTS_OF_NODE; index += 1) {
    const { type, data } = factOf(node, index);
    const message = { id: randomUUID(), time: new Date().toISOString(), desired: null, data };
    const startedAt = performance.now();
    const took = (what: keyof Lags) => () => void lags[what].push(performance.now() - startedAt);
    const over = Promise.all([
      ...WATCHED.map((service) => commits[service].next(node).then(took(service))),
      new Promise<{ readonly rejected: string | null }>((resolve) => (answered = resolve)).then(({ rejected }) => {
        if (rejected !== null) throw new Error(`a fact was rejected: ${rejected}`);
        took('answer')();
      }),
    ]);
    nc.publish(agentFactSubject({ ...ADDRESS, node }, type), JSON.stringify(message));
    await orLost(over, node);
    const waitMs = intervalMs - (performance.now() - startedAt);
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  await nc.close();
};

const orLost = async (over: Promise<unknown>, node: string): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`a fact of ${node} is in no row`)), LOST_AFTER_MS);
  });
  try {
    await Promise.race([over, lost]);
  } finally {
    clearTimeout(timer);
  }
};

/** Nodes in the services' rows without machines: infra-svc is stopped. */
const planNodes = async ({ system, commits }: Parts, nodes: readonly string[]): Promise<void> => {
  await Promise.all(['infra-svc', 'bootstrap-svc'].map((name) => system.supervisor.hold(name)));
  const known = Promise.all(WATCHED.flatMap((service) => nodes.map((node) => commits[service].next(node))));
  const store = new JetStreamStore({
    nc: system.admin,
    source: '/infra-svc',
    now: () => new Date(),
    newId: randomUUID,
  });
  const fact: Fact<'VmsPlanned'> = { type: 'VmsPlanned', data: { uid, machines: nodes.map(planOf) } };
  await store.append({ ...ADDRESS, context: 'machines' }, { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }, [fact], {
    actor: 'system/infra-svc',
    correlationId: 'bench',
    causationId: 'bench',
  });
  await orLost(known, 'the plan');
};

/** From a node's fact to the row that shows it, at a steady rate, with fsync in NATS and PostgreSQL. */
export const benchFacts = async (): Promise<Figure[]> => {
  const system = await startSystem({ light: true, durable: true });
  const { databases } = system.environment;
  const commits = {
    'upgrade-svc': await Commits.of(databases['upgrade-svc']),
    gateway: await Commits.of(databases.gateway),
  };
  try {
    const nodes = Array.from({ length: NODES }, (_, index) => `facts-w-${index + 1}-aaaaa`);
    const parts = { system, commits };
    await planNodes(parts, nodes);
    const lags: Lags = { 'upgrade-svc': [], gateway: [], answer: [] };
    const before = await countsOf(system);
    await Promise.all(nodes.map((node) => stateFacts(parts, node, lags)));
    const counts = countFigures(before, await countsOf(system), { each: 'fact', count: NODES * FACTS_OF_NODE });
    const at = `at ${RATE_PER_SECOND}/s from ${NODES} nodes`;
    const rows = WATCHED.map((service) => {
      const distribution = distributionOf(lags[service]);
      return {
        name: `an agent's fact to the committed row of ${service}, ${at}`,
        value: (factor: number) => lineOf(scaled(distribution, factor), 'ms'),
        goal: `p99 < ${GOAL_MS} ms`,
        met: (factor: number) => distribution.p99 * factor < GOAL_MS,
      };
    });
    return [...rows, times(`an agent's fact to its answer, ${at}`, lags.answer, 'ms'), ...counts];
  } finally {
    await Promise.all(WATCHED.map((service) => commits[service].close()));
    await system.stop();
  }
};
