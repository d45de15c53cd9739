import { readFileSync } from 'node:fs';
import { claimsUpdateSubject, heartbeatSubject } from '@fairlead/contracts';
import {
  accountOf,
  authenticatorOf,
  mintNodeCredentials,
  signAccount,
  type AccountSigning,
  type NodeSigning,
} from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, type Authenticator, type NatsConnection } from '@nats-io/transport-node';
import { readSettings } from '../config.js';
import { startRevoker, type RunningRevoker } from '../service.js';

const LIMITS = { perUser: 4, accountMin: 64, accountMax: 4_096, rememberedMs: 60_000 };
const SURPLUS = 300;
const NODES = 200;
const AT_ONCE = 50;

/** A real nats-server, and the revoker's own process code. */
describe('the connections of nodes', () => {
  let environment: TestEnvironment;
  let signing: NodeSigning;
  let account: string;
  let revoker: RunningRevoker | undefined;
  const said: string[] = [];
  const open = new Set<NatsConnection>();

  const start = async (): Promise<void> => {
    const { nats } = environment;
    const settings = readSettings({
      NATS_URL: nats.url,
      NATS_CREDS: nats.credsFile('revoker'),
      NATS_SYSTEM_CREDS: nats.credsFile('revoker-system'),
      NATS_ACCOUNT_SIGNING_FILE: nats.accountSigningFile,
    });
    revoker = await startRevoker(settings, (_, sentence) => void said.push(sentence), LIMITS);
    await eventually(async () => (await metric('fairlead_node_connections_max')) >= LIMITS.accountMin);
  };
  const stop = async (): Promise<void> => {
    await revoker?.stop();
    revoker = undefined;
  };
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${revoker?.port}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  };
  const credsOf = (node: string): string =>
    mintNodeCredentials(signing, { namespace: 'default', cluster: 'demo', node, expiresInSeconds: 600 });
  const connectAs = async (authenticator: Authenticator): Promise<NatsConnection> => {
    const nc = await connect({ servers: environment.nats.url, authenticator, reconnect: false, timeout: 5_000 });
    open.add(nc);
    void nc.closed().then(() => open.delete(nc));
    return nc;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all([...open].map((nc) => nc.close()));
  };
  /** Opens so many at the same time, and returns the words with which others were refused. */
  const flood = async (count: number, authenticator: Authenticator): Promise<readonly string[]> => {
    const refused: string[] = [];
    for (let opened = 0; opened < count; opened += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, () =>
          connectAs(authenticator).catch((error: unknown) => void refused.push(String(error))),
        ),
      );
    return refused;
  };
  /** What the server itself counts. */
  const inAccount = async (): Promise<number> => {
    const { connections } = (await (
      await fetch(`${environment.nats.monitorUrl}/connz?acc=${account}&limit=10000`)
    ).json()) as { readonly connections: readonly unknown[] };
    return connections.length;
  };
  const isHeard = async (node: NatsConnection, name: string): Promise<boolean> => {
    const admin = await environment.connect('admin');
    const heard = new Promise<boolean>((resolve) => {
      admin.subscribe(`hb.default.demo.${name}`, { max: 1, callback: () => resolve(true) });
    });
    await admin.flush();
    node.publish(heartbeatSubject('default', 'demo', name), '{}');
    return heard;
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    await ensureStreams(await environment.connect('admin'));
    signing = JSON.parse(readFileSync(environment.nats.nodeSigningFile ?? '', 'utf8')) as NodeSigning;
    const key = JSON.parse(readFileSync(environment.nats.accountSigningFile ?? '', 'utf8')) as AccountSigning;
    account = accountOf(key);
    const small = { revocations: {}, connectionsMax: LIMITS.accountMin };
    const system = await environment.connect('revoker-system', { inboxPrefix: '_INBOX_revoker' });
    await system.request(claimsUpdateSubject(account), signAccount(key, small, Math.floor(Date.now() / 1_000)));
    await start();
  }, 60_000);

  afterAll(async () => {
    await closeAll();
    await stop();
    await environment?.stop();
  });

  afterEach(async () => {
    await closeAll();
    await eventually(async () => (await inAccount()) === 0);
  });

  it('of one credential are at most four: the surplus is closed, its node is named, and its neighbour is served', async () => {
    const neighbour = await connectAs(authenticatorOf(credsOf('w2')));
    await flood(SURPLUS, authenticatorOf(credsOf('w1')));
    await eventually(async () => (await inAccount()) === LIMITS.perUser + 1);
    expect(await metric('fairlead_node_connections_most')).toBeLessThanOrEqual(LIMITS.perUser);
    expect(await metric('fairlead_node_connections_closed_total')).toBeGreaterThan(0);
    expect(said).toContain('node default/demo/w1 has more than 4 connections to NATS; the oldest are closed');
    expect(neighbour.isClosed()).toBe(false);
    expect(await isHeard(neighbour, 'w2')).toBe(true);
  });

  it('of one credential are at most four, whatever other user each of them claims to be', async () => {
    const genuine = authenticatorOf(credsOf('w3'));
    let count = 0;
    const disguised: Authenticator = (nonce) => {
      const name = `U${String((count += 1)).padStart(55, 'A')}`;
      return { ...genuine(nonce), nkey: name, user: name } as ReturnType<Authenticator>;
    };
    await flood(AT_ONCE, disguised);
    await eventually(async () => (await inAccount()) === LIMITS.perUser);
  });

  it('are refused beyond the limit of the account while the revoker is down, and services still connect', async () => {
    await stop();
    const refused = await flood(SURPLUS, authenticatorOf(credsOf('w4')));
    expect(await inAccount()).toBe(LIMITS.accountMin);
    expect(refused).toHaveLength(SURPLUS - LIMITS.accountMin);
    expect(refused.join(' ')).toMatch(/maximum account active connections/i);
    await (await environment.connect('gateway')).flush();
    await start();
    await eventually(async () => (await inAccount()) === LIMITS.perUser);
  });

  it('may be those of every node at once: after an outage of NATS all are back, and the limit has followed them', async () => {
    const nodes = Array.from({ length: NODES }, (_, at) => authenticatorOf(credsOf(`n${at}`)));
    /** As an agent does: again and again, a little later each time. */
    const untilConnected = async (authenticator: Authenticator): Promise<void> => {
      await eventually(async () => (await connectAs(authenticator).catch(() => undefined)) !== undefined);
    };
    await Promise.all(nodes.map(untilConnected));
    await eventually(async () => (await metric('fairlead_node_connections_max')) >= 2 * NODES);
    await environment.killNats();
    await eventually(() => open.size === 0);
    await environment.startNats();
    await Promise.all(nodes.map(untilConnected));
    await eventually(async () => (await metric('fairlead_node_connections')) >= NODES);
  });
});
