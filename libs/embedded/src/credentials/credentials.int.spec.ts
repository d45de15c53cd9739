import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { inboxPrefix } from '@fairlead/contracts';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { cacheFolder } from '../folder/cache-folder.js';
import { resolveNatsServer } from '../nats/nats.resolver.js';
import { startNats, type RunningNats } from '../nats/nats.server.js';
import { claimsOfCreds, mintNodeCredentials, type NodeSigning } from './creds.js';
import { keyOfSeed } from './nkey.js';
import { CREDENTIAL_NAMES, ensureCredentials, type NatsCredentials } from './operator.store.js';
import { throwawayFolder } from '../environment/throwaway-folder.js';

jest.setTimeout(120_000); // A busy machine; each wait in a test has a deadline of its own.

describe('credentials', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = throwawayFolder();
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('are made once, for each service and the administrator, and readable by their owner alone', () => {
    const { credsFile, nodeSigningFile, operatorJwt, system, account, nodes } = ensureCredentials(dataDir);
    const texts = CREDENTIAL_NAMES.map((name) => readFileSync(credsFile(name), 'utf8'));
    for (const file of [nodeSigningFile, ...CREDENTIAL_NAMES.map(credsFile)])
      expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = ensureCredentials(dataDir);
    expect(again).toMatchObject({ operatorJwt, system, account, nodes });
    expect(CREDENTIAL_NAMES.map((name) => readFileSync(again.credsFile(name), 'utf8'))).toEqual(texts);
  });

  it('are minted anew for a service whose permissions changed, and for no other', () => {
    const narrow = { publish: ['a'], subscribe: ['b'] };
    const { credsFile } = ensureCredentials(dataDir, () => narrow);
    const before = readFileSync(credsFile('gateway'), 'utf8');
    ensureCredentials(dataDir, (name) => (name === 'infra-svc' ? { ...narrow, publish: ['a', 'c'] } : narrow));
    expect(readFileSync(credsFile('gateway'), 'utf8')).toBe(before);
    expect(claimsOfCreds(readFileSync(credsFile('infra-svc'), 'utf8')).nats['pub']).toEqual({ allow: ['a', 'c'] });
  });
});

describe('keys of an instance whose nodes were in the account of the services', () => {
  it('sign nothing that the credentials of those nodes would pass by', () => {
    const dataDir = throwawayFolder();
    ensureCredentials(dataDir);
    const file = join(dataDir, 'keys', 'nats-operator.json');
    const {
      nodesSeed: _account,
      nodeSigningSeed: _key,
      ...old
    } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
    writeFileSync(file, JSON.stringify(old));
    const { credsFile } = ensureCredentials(dataDir);
    const after = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
    expect(after['signingSeed']).not.toBe(old['signingSeed']);
    expect(after['accountSeed']).toBe(old['accountSeed']);
    expect(claimsOfCreds(readFileSync(credsFile('gateway'), 'utf8')).iss).toBe(
      keyOfSeed(after['signingSeed'] ?? '').publicKey,
    );
    rmSync(dataDir, { recursive: true, force: true });
  });
});

describe('the server, on credentials', () => {
  let dataDir: string;
  let auth: NatsCredentials;
  let nats: RunningNats;
  const connections: NatsConnection[] = [];
  const objections = new Map<NatsConnection, string[]>();

  beforeAll(async () => {
    dataDir = throwawayFolder();
    auth = ensureCredentials(dataDir);
    const { path: binary } = await resolveNatsServer({
      cacheDir: cacheFolder(process.env, dataDir),
      env: {},
      log: () => undefined,
    });
    nats = await startNats({ dataDir, binary, auth });
  }, 120_000);

  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await nats.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const connectAs = async (creds: string, prefix?: string): Promise<NatsConnection> => {
    const connection = await connect({
      servers: nats.url,
      authenticator: credsAuthenticator(Buffer.from(creds)),
      reconnect: false,
      ...(prefix === undefined ? {} : { inboxPrefix: prefix }),
    });
    connections.push(connection);
    objections.set(connection, collect(connection));
    return connection;
  };
  const collect = (connection: NatsConnection): string[] => {
    const words: string[] = [];
    const listen = async (): Promise<void> => {
      for await (const status of connection.status()) if (status.type === 'error') words.push(status.error.message);
    };
    void listen();
    return words;
  };
  const nodeCreds = (node: string, expiresInSeconds = 600): string => {
    const signing = JSON.parse(readFileSync(auth.nodeSigningFile, 'utf8')) as NodeSigning;
    return mintNodeCredentials(signing, { namespace: 'lab', cluster: 'demo', node, expiresInSeconds });
  };

  /** Publishes, and resolves to the server's objection, if it has one. The server answers in order, so it comes before the flush ends. */
  const publish = async (connection: NatsConnection, subject: string): Promise<string | undefined> => {
    const known = objections.get(connection)?.length ?? 0;
    connection.publish(subject, 'x');
    await connection.flush();
    await nextTurn();
    return objections.get(connection)?.[known];
  };

  it("lets a node publish its own heartbeat, and refuses another node's", async () => {
    const admin = await connectAs(readFileSync(auth.credsFile('admin'), 'utf8'));
    const received: string[] = [];
    const heartbeats = admin.subscribe('hb.>', {
      callback: (_, message) => {
        received.push(message.subject);
      },
    });
    await admin.flush();
    const node = await connectAs(nodeCreds('demo-cp-1'));

    expect(await publish(node, 'hb.lab.demo.demo-cp-2')).toMatch(
      /Permissions Violation for Publish to "hb\.lab\.demo\.demo-cp-2"/i,
    );
    expect(await publish(node, 'hb.lab.demo.demo-cp-1')).toBeUndefined();
    await admin.flush();
    expect(received).toEqual(['hb.lab.demo.demo-cp-1']);
    heartbeats.unsubscribe();
  });

  it("lets a service state its own facts, and refuses another service's", async () => {
    const gateway = await connectAs(readFileSync(auth.credsFile('gateway'), 'utf8'), inboxPrefix('gateway'));
    expect(await publish(gateway, 'evt.3.lab.demo.wish.ClusterRequested')).toBeUndefined();
    expect(await publish(gateway, 'evt.3.lab.demo.machines.VmsCreated')).toMatch(/Permissions Violation/i);
  });

  it('refuses a credential that another account signed', async () => {
    const stranger = throwawayFolder();
    const foreign = readFileSync(ensureCredentials(stranger).credsFile('admin'), 'utf8');
    rmSync(stranger, { recursive: true, force: true });
    await expect(connectAs(foreign)).rejects.toThrow(/authorization/i);
  });

  it('refuses a credential that has ended, and a client without any', async () => {
    await expect(connectAs(nodeCreds('demo-cp-1', -1))).rejects.toThrow(/authorization/i);
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/authorization/i);
  });
});
