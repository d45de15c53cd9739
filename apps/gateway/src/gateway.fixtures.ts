import { EVENTS, NONE, streamSubject, type Fact, type StoredEvent, type StreamId } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment, type TestEnvironmentOptions } from '@fairlead/embedded/testing';
import { decode, ensureStreams, JetStreamStore, readAll } from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { startService, type Env, type RunningService } from '@fairlead/service-kit';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from './config.js';
import { gatewayService } from './service.js';

export interface ApiResponse<Body = Record<string, never>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface AskOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** undefined: the local administrator; null: no token. */
  readonly token?: string | null;
  readonly replica?: number;
}

/** One process of the gateway; stopping it twice is stopping it once. */
export type Replica = Pick<RunningService, 'port' | 'stop'> & {
  /** What `ask` calls it. */
  readonly index: number;
};

/** A gateway on a real NATS and a real PostgreSQL. The other services are played by `state`. */
export interface TestGateway {
  readonly environment: TestEnvironment;
  readonly folder: string;
  readonly token: string;
  readonly baseUrl: (replica?: number) => string;
  ask<Body = Record<string, unknown>>(method: string, path: string, options?: AskOptions): Promise<ApiResponse<Body>>;
  /** States a fact about a cluster, as its own writer would. */
  state(fact: Fact, at?: Partial<StreamId>): Promise<StoredEvent>;
  /** Everything in the log that matches. */
  log(filter?: string): Promise<StoredEvent[]>;
  /** With these variables of its environment, besides those that every replica has. */
  startReplica(variables?: Env): Promise<Replica>;
  stop(): Promise<void>;
}

const contextOf = (fact: Fact): string => {
  const { context } = EVENTS[fact.type];
  const node = 'node' in fact.data ? String(fact.data.node) : '';
  const connection = 'connection' in fact.data ? String(fact.data.connection) : '';
  const application = 'application' in fact.data ? String(fact.data.application) : '';
  return context
    .replace('<node>', node)
    .replace('<application>', application)
    .replace('<connection>', connection)
    .replace('<service>', 'service' in fact.data ? String(fact.data.service) : '');
};

export interface TestGatewayOptions extends TestEnvironmentOptions {
  /** Of the environment of every replica. */
  readonly variables?: Env;
}

export const startTestGateway = async ({
  variables = {},
  ...options
}: TestGatewayOptions = {}): Promise<TestGateway> => {
  const environment = await testEnvironment(options);
  const folder = newFolder('gateway');
  writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
  const tokenFile = join(folder, 'local.token');
  const admin = await environment.connect('admin');
  await ensureStreams(admin);
  const replicas: Replica[] = [];

  const startReplica = async (replicaVariables: Env = {}): Promise<Replica> => {
    const env = {
      ...variables,
      ...replicaVariables,
      FAIRLEAD_LOCAL_TOKEN_FILE: tokenFile,
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('gateway'),
      DATABASE_URL: environment.databases.gateway,
      FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
      LOG_LEVEL: 'error',
    };
    const replica = await startService(gatewayService(readSettings(env)), env);
    let stopped: Promise<void> | undefined;
    const once = { index: replicas.length, port: replica.port, stop: () => (stopped ??= replica.stop()) };
    replicas.push(once);
    return once;
  };
  await startReplica();
  const token = readFileSync(tokenFile, 'utf8').trim();
  const baseUrl = (replica = 0): string => `http://127.0.0.1:${replicas[replica]?.port}`;

  return {
    environment,
    folder,
    token,
    baseUrl,
    startReplica,

    ask: async <Body>(method: string, path: string, options: AskOptions = {}) => {
      const bearer = options.token === undefined ? token : options.token;
      const response = await fetch(`${baseUrl(options.replica)}${path}`, {
        method,
        headers: {
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
          ...options.headers,
        },
        ...(options.body === undefined
          ? {}
          : { body: typeof options.body === 'string' ? options.body : JSON.stringify(options.body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') ?? false;
      return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as Body };
    },

    state: async (fact, at = {}) => {
      const stream = { namespace: 'default', cluster: 'demo', context: contextOf(fact), ...at };
      const { source, actor } = writerOf(stream, fact.type);
      const store = new JetStreamStore({ nc: admin, source, now: () => new Date(), newId: randomUUID });
      const read = await store.read(`${streamSubject(stream)}.>`, 0);
      const last = read.at(-1);
      const position = {
        seq: last?.event.meta.seq ?? 0,
        streamVersion: read.length,
        hash: last?.hash ?? '0'.repeat(64),
      };
      const cause = { actor, correlationId: 'spec', causationId: 'spec' };
      const outcome = await store.append(stream, position, [fact], cause);
      if (outcome.kind === 'conflict' || outcome.events[0] === undefined)
        throw new Error(`${fact.type} was not stated`);
      return outcome.events[0];
    },

    log: async (filter = 'evt.>') => {
      const found: StoredEvent[] = [];
      for await (const batch of readAll(admin, filter, 0))
        for (const { subject, seq, bytes } of batch) {
          const event = decode(subject, seq, bytes);
          if (event !== undefined) found.push(event);
        }
      return found;
    },

    stop: async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await environment.stop();
      removeFolder(folder);
    },
  };
};

const START_MS = 180_000;

/**
 * The gateway of a spec file: started before its specs, with a namespace and a connection, and what `begin` adds; stopped after them. It may be used
 * in hooks and specs only.
 */
export const useGateway = (
  begin: () => Promise<unknown> = async () => undefined,
  options: TestGatewayOptions = {},
): TestGateway => {
  let running: TestGateway | undefined;
  beforeAll(async () => {
    running = await startTestGateway(options);
    await prepareWorld(running);
    await begin();
  }, START_MS);
  afterAll(() => running?.stop(), START_MS);
  return new Proxy({} as TestGateway, {
    get: (_target, name) => {
      if (running === undefined) throw new Error('the gateway of this spec file is not started yet');
      return Reflect.get(running, name) as unknown;
    },
  });
};

/** How events name the local administrator. */
export const localActor = ({ token }: Pick<TestGateway, 'token'>): string => `user/local#${token.split('_')[1]}`;

export const NOWHERE = { namespace: NONE, cluster: NONE };

/** What CB-Ladybug's clients send. */
export const request = (name: string, change: Readonly<Record<string, unknown>> = {}) => ({
  name,
  controlPlane: [{ connection: 'lab', count: 3, spec: 'lab.medium' }],
  worker: [{ connection: 'lab', count: 2, spec: 'lab.small' }],
  ...change,
});

export const SECRET_CANARY = 'canary-of-a-provider-token';

/** A namespace and a connection to begin with. */
export const prepareWorld = async (gateway: TestGateway): Promise<void> => {
  const lab = {
    provider: 'lab',
    region: 'lab-1',
    namespaces: ['*'],
    settings: { endpoint: 'http://127.0.0.1:1', token: SECRET_CANARY },
  };
  const answers = await Promise.all([
    gateway.ask('POST', '/ns', { body: { name: 'default' } }),
    gateway.ask('PUT', '/connections/lab', { body: lab }),
  ]);
  for (const { status, body } of answers) if (status >= 300) throw new Error(JSON.stringify(body));
};
