import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { inboxPrefix } from '@fairlead/contracts';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { cacheFolder } from '../folder/cache-folder.js';
import { resolveNatsServer } from '../nats/nats.resolver.js';
import { startNats, type RunningNats } from '../nats/nats.server.js';
import { signClaims } from './claims.js';
import { claimsOfCreds, mintCredentials, mintNodeCredentials, withJwt, type NodeSigning } from './creds.js';
import { keyOfSeed, newKey } from './nkey.js';
import { CREDENTIAL_NAMES, ensureCredentials, rotateCredentials, type NatsCredentials } from './operator.store.js';
import { throwawayFolder } from '../environment/throwaway-folder.js';

jest.setTimeout(120_000); // For a busy machine; each wait in a test has its own deadline.

describe('credentials', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = throwawayFolder();
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('are created once, for each service and the administrator, and readable only by their owner', () => {
    const { credsFile, nodeSigningFile, accountSigningFile, operatorJwt, system, account, nodes } =
      ensureCredentials(dataDir);
    const texts = CREDENTIAL_NAMES.map((name) => readFileSync(credsFile(name), 'utf8'));
    for (const file of [nodeSigningFile, accountSigningFile, ...CREDENTIAL_NAMES.map(credsFile)])
      expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = ensureCredentials(dataDir);
    expect(again).toMatchObject({ operatorJwt, system, account, nodes });
    expect(CREDENTIAL_NAMES.map((name) => readFileSync(again.credsFile(name), 'utf8'))).toEqual(texts);
  });

  it('are minted again for a service whose permissions changed, and for no other', () => {
    const narrow = { publish: ['a'], subscribe: ['b'] };
    const { credsFile } = ensureCredentials(dataDir, () => narrow);
    const before = readFileSync(credsFile('gateway'), 'utf8');
    ensureCredentials(dataDir, (name) => (name === 'infra-svc' ? { ...narrow, publish: ['a', 'c'] } : narrow));
    expect(readFileSync(credsFile('gateway'), 'utf8')).toBe(before);
    expect(claimsOfCreds(readFileSync(credsFile('infra-svc'), 'utf8')).nats['pub']).toEqual({ allow: ['a', 'c'] });
  });
});

describe('keys of an instance whose nodes were in the account of the services', () => {
  it('sign nothing that would be valid together with the credentials of those nodes', () => {
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

describe('the server after a rotation of its keys', () => {
  const DAY_MS = 24 * 60 * 60 * 1000;
  const W1 = { namespace: 'default', cluster: 'demo', node: 'w1', expiresInSeconds: 600 };
  let dataDir: string;
  let binary: string;
  let nats: RunningNats | undefined;

  beforeAll(async () => {
    dataDir = throwawayFolder();
    ({ path: binary } = await resolveNatsServer({
      cacheDir: cacheFolder(process.env, dataDir),
      env: {},
      log: () => undefined,
    }));
  });
  afterEach(async () => {
    await nats?.stop();
    nats = undefined;
  });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  const restart = async (auth: NatsCredentials): Promise<void> => {
    await nats?.stop();
    nats = await startNats({ dataDir, binary, auth });
  };
  const connecting = (creds: string): Promise<NatsConnection> =>
    connect({
      servers: nats?.url ?? '',
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
      reconnect: false,
    });
  const isLetIn = async (creds: string): Promise<boolean> => {
    try {
      await (await connecting(creds)).close();
      return true;
    } catch (error) {
      expect(String(error)).toMatch(/authorization/i);
      return false;
    }
  };
  const text = (file: string): string => readFileSync(file, 'utf8');
  const seeds = () => JSON.parse(text(join(dataDir, 'keys', 'nats-operator.json'))) as Record<string, string>;
  const signing = ({ nodeSigningFile }: NatsCredentials) => JSON.parse(text(nodeSigningFile)) as NodeSigning;

  it('rejects credentials signed by the key of an account, and accepts those of its signing keys', async () => {
    const auth = ensureCredentials(dataDir);
    await restart(auth);
    const all = { publish: ['>'], subscribe: ['>'] };
    for (const [seed, { publicKey }] of [
      [seeds()['accountSeed'], auth.account],
      [seeds()['nodesSeed'], auth.nodes],
      [seeds()['systemSeed'], auth.system],
    ] as const) {
      const minted = mintCredentials({
        signingSeed: seed ?? '',
        accountPublicKey: publicKey,
        name: 'x',
        permissions: all,
      });
      expect(await isLetIn(minted)).toBe(false);
      const user = newKey('user');
      const fields = { pub: {}, sub: {}, subs: -1, data: -1, payload: -1 };
      const jwt = signClaims({ type: 'user', name: 'x', subject: user.publicKey, fields }, keyOfSeed(seed ?? ''));
      expect(await isLetIn(withJwt(minted, jwt).replace(/SU[A-Z2-7]{50,}/, user.seed))).toBe(false);
    }
    expect(await isLetIn(text(auth.credsFile('gateway')))).toBe(true);
  });

  it('accepts only the new credentials, keeps its streams, and accepts agents for their remaining time', async () => {
    const before = ensureCredentials(dataDir);
    await restart(before);
    const admin = await connecting(text(before.credsFile('admin')));
    await admin.request('$JS.API.STREAM.CREATE.KEPT', JSON.stringify({ name: 'KEPT', subjects: ['kept'] }));
    await admin.request('kept', 'a message');
    await admin.close();
    const old = {
      seeds: seeds(),
      signing: signing(before),
      creds: CREDENTIAL_NAMES.map((name) => text(before.credsFile(name))),
    };
    const agent = mintNodeCredentials(old.signing, W1);
    expect(await isLetIn(agent)).toBe(true);

    const now = new Date();
    const after = rotateCredentials(dataDir, { now, nodesForMs: DAY_MS });
    for (const name of ['operatorSeed', 'operatorSigningSeed', 'signingSeed', 'nodeSigningSeed']) {
      expect([name, seeds()[name] === old.seeds[name]]).toEqual([name, false]);
      expect(text(join(dataDir, 'keys', 'nats-operator.json'))).not.toContain(old.seeds[name]);
    }
    await restart(after);
    for (const creds of old.creds) expect(await isLetIn(creds)).toBe(false);
    const minted = mintCredentials({
      signingSeed: old.seeds['signingSeed'] ?? '',
      accountPublicKey: after.account.publicKey,
      name: 'gateway',
      permissions: { publish: ['>'], subscribe: ['>'] },
    });
    expect(await isLetIn(minted)).toBe(false);
    for (const name of CREDENTIAL_NAMES) expect(await isLetIn(text(after.credsFile(name)))).toBe(true);
    const again = await connecting(text(after.credsFile('admin')));
    const info = (await again.request('$JS.API.STREAM.INFO.KEPT')).json<{
      readonly state: { readonly messages: number };
    }>();
    expect(info.state.messages).toBe(1);
    await again.close();

    expect(await isLetIn(agent)).toBe(true);
    expect(await isLetIn(mintNodeCredentials(signing(after), W1))).toBe(true);
    await restart(ensureCredentials(dataDir, undefined, new Date(now.getTime() + DAY_MS + 1)));
    expect(await isLetIn(agent)).toBe(false);
    expect(await isLetIn(mintNodeCredentials(signing(after), W1))).toBe(true);
  });

  it('rejects the credentials of agents at once, on request', async () => {
    const agent = mintNodeCredentials(signing(ensureCredentials(dataDir)), W1);
    await restart(rotateCredentials(dataDir, { now: new Date(), nodesForMs: 0 }));
    expect(await isLetIn(agent)).toBe(false);
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

  /**
   * Publishes, and resolves to the server's error, if any. The server answers in order, so it arrives before the flush
   * ends.
   */
  const publish = async (connection: NatsConnection, subject: string): Promise<string | undefined> => {
    const known = objections.get(connection)?.length ?? 0;
    connection.publish(subject, 'x');
    await connection.flush();
    await nextTurn();
    return objections.get(connection)?.[known];
  };

  it("lets a node publish its own heartbeat, and rejects another node's", async () => {
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

  it("lets a service state its own facts, and rejects another service's", async () => {
    const gateway = await connectAs(readFileSync(auth.credsFile('gateway'), 'utf8'), inboxPrefix('gateway'));
    expect(await publish(gateway, 'evt.3.lab.demo.request.ClusterRequested')).toBeUndefined();
    expect(await publish(gateway, 'evt.3.lab.demo.machines.VmsCreated')).toMatch(/Permissions Violation/i);
  });

  it('rejects a credential that another account signed', async () => {
    const stranger = throwawayFolder();
    const foreign = readFileSync(ensureCredentials(stranger).credsFile('admin'), 'utf8');
    rmSync(stranger, { recursive: true, force: true });
    await expect(connectAs(foreign)).rejects.toThrow(/authorization/i);
  });

  it('rejects an expired credential, and a client without any', async () => {
    await expect(connectAs(nodeCreds('demo-cp-1', -1))).rejects.toThrow(/authorization/i);
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/authorization/i);
  });
});
