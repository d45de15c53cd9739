import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGENT_CREDENTIALS_REVOKED_MAX,
  claimsUpdateSubject,
  heartbeatSubject,
  streamSubject,
  type ClusterUid,
  type Fact,
} from '@fairlead/contracts';
import {
  accountOf,
  claimsOfCreds,
  mintNodeCredentials,
  mintNodeJwt,
  accountStateIn,
  signAccount,
  withJwt,
  type AccountSigning,
  type NodeSigning,
} from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams, JetStreamStore } from '@fairlead/event-sourcing/jetstream';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { readSettings } from '../config.js';
import { startRevoker, type RunningRevoker } from '../service.js';

const WITHIN_MS = 20_000;
const LIFETIME_S = 600;
const uid = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' as ClusterUid;
const NO_STATE = { revocations: {}, connectionsMax: undefined };
const BOOTSTRAP = { namespace: 'default', cluster: 'demo', context: 'bootstrap' };

/** What came within the time; undefined: nothing did. */
const inTime = <T>(work: Promise<T>, ms = WITHIN_MS): Promise<T | undefined> =>
  Promise.race([work, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms).unref())]);

/** A real nats-server, the revoker's own process code, and nodes that are connected as agents are. */
describe('the credential of a node that is gone', () => {
  let environment: TestEnvironment;
  let signing: NodeSigning;
  let accountSigning: AccountSigning;
  let revoker: RunningRevoker | undefined;
  const open: NatsConnection[] = [];

  const start = async (): Promise<void> => {
    const { nats } = environment;
    const settings = readSettings({
      NATS_URL: nats.url,
      NATS_CREDS: nats.credsFile('revoker'),
      NATS_SYSTEM_CREDS: nats.credsFile('revoker-system'),
      NATS_ACCOUNT_SIGNING_FILE: nats.accountSigningFile,
    });
    revoker = await startRevoker(settings, () => undefined);
    await eventually(() => isReady().catch(() => false));
  };
  const stop = async (): Promise<void> => {
    await revoker?.stop();
    revoker = undefined;
  };
  const ask = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${revoker?.port}${path}`);
  const isReady = async (): Promise<boolean> => (await ask('/readyz')).status === 200;

  const credsOf = (node: string): string =>
    mintNodeCredentials(signing, { namespace: 'default', cluster: 'demo', node, expiresInSeconds: LIFETIME_S });
  const userOf = (creds: string): string => claimsOfCreds(creds).sub;
  const connectAs = async (creds: string): Promise<NatsConnection> => {
    const nc = await connect({
      servers: environment.nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
      reconnect: false,
    });
    open.push(nc);
    return nc;
  };
  const isRefused = async (creds: string): Promise<boolean> => {
    try {
      await (await connectAs(creds)).close();
      return false;
    } catch (error) {
      expect(String(error)).toMatch(/authorization violation|authentication/i);
      return true;
    }
  };
  const state = async (fact: Fact): Promise<void> => {
    const nc = await environment.connect('bootstrap-svc');
    const store = new JetStreamStore({ nc, source: '/bootstrap-svc', now: () => new Date(), newId: randomUUID });
    const read = await store.read(`${streamSubject(BOOTSTRAP)}.>`, 0);
    const last = read.at(-1);
    const position = { seq: last?.event.meta.seq ?? 0, streamVersion: read.length, hash: last?.hash ?? '0'.repeat(64) };
    const cause = { actor: 'system/bootstrap-svc', correlationId: 'x', causationId: 'x' };
    expect((await store.append(BOOTSTRAP, position, [fact], cause)).kind).toBe('appended');
    await nc.close();
  };
  const revoke = (...users: string[]): Promise<void> =>
    state({ type: 'AgentCredentialsRevoked', data: { uid, users, lifetimeSeconds: LIFETIME_S } });

  beforeAll(async () => {
    environment = await testEnvironment();
    await ensureStreams(await environment.connect('admin'));
    signing = JSON.parse(readFileSync(environment.nats.nodeSigningFile ?? '', 'utf8')) as NodeSigning;
    accountSigning = JSON.parse(readFileSync(environment.nats.accountSigningFile ?? '', 'utf8')) as AccountSigning;
    await start();
  }, 60_000);

  afterAll(async () => {
    await stop();
    await Promise.all(open.map((nc) => nc.close()));
    await environment?.stop();
  });

  it('ends its connection and is refused from then on, while its neighbour and a new node of its name are served', async () => {
    const [creds, neighbourCreds] = [credsOf('w1'), credsOf('w2')];
    const [node, neighbour] = [await connectAs(creds), await connectAs(neighbourCreds)];
    await revoke(userOf(creds));
    const statedAtMs = performance.now();
    expect(await inTime(node.closed().then(() => 'closed'))).toBe('closed');
    process.stdout.write(`closed ${Math.round(performance.now() - statedAtMs)} ms after the event was in the log\n`);
    expect(await isRefused(creds)).toBe(true);

    expect(neighbour.isClosed()).toBe(false);
    const heard = new Promise((resolve) => {
      void environment.connect('admin').then(async (admin) => {
        admin.subscribe('hb.default.demo.w2', { max: 1, callback: () => resolve('heard') });
        await admin.flush();
        neighbour.publish(heartbeatSubject('default', 'demo', 'w2'), '{}');
      });
    });
    expect(await inTime(heard)).toBe('heard');
    expect(await isRefused(neighbourCreds)).toBe(false);
    expect(await isRefused(credsOf('w1'))).toBe(false);
  });

  it('is refused with claims that were signed after its removal, too', async () => {
    const creds = credsOf('w1');
    await revoke(userOf(creds));
    await eventually(() => isRefused(creds).catch(() => false));
    const node = { namespace: 'default', cluster: 'demo', node: 'w1', expiresInSeconds: LIFETIME_S };
    // Claims have whole seconds: these are signed well after the removal.
    const later = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 5_000);
    const jwt = mintNodeJwt(signing, node, userOf(creds));
    later.mockRestore();
    expect(await isRefused(withJwt(creds, jwt))).toBe(true);
  });

  it('is refused after a kill -9 of NATS, without the revoker, and the next node of its name is not', async () => {
    const [creds, next] = [credsOf('w3'), credsOf('w3')];
    await revoke(userOf(creds));
    await eventually(() => isRefused(creds).catch(() => false));
    await stop();
    await environment.killNats();
    await environment.startNats();
    expect(await isRefused(creds)).toBe(true);
    expect(await isRefused(next)).toBe(false);
    await start();
  });

  it('is refused when it was removed while the revoker was down', async () => {
    const creds = credsOf('w4');
    await stop();
    await revoke(userOf(creds));
    expect(await isRefused(creds)).toBe(false);
    const node = await connectAs(creds);
    await start();
    expect(await inTime(node.closed().then(() => 'closed'))).toBe('closed');
    expect(await isRefused(creds)).toBe(true);
  });

  it('is refused again when NATS has lost the claims, as after a power failure', async () => {
    const creds = credsOf('w5');
    await revoke(userOf(creds));
    await eventually(() => isRefused(creds).catch(() => false));
    await environment.killNats();
    rmSync(join(environment.dataDir, 'nats', 'accounts'), { recursive: true });
    await environment.startNats();
    await eventually(() => isRefused(creds).catch(() => false));
  });

  it('is refused when it is one of a cluster of four thousand, and says how many there are', async () => {
    const creds = credsOf('w6');
    const node = await connectAs(creds);
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    const others = Array.from({ length: AGENT_CREDENTIALS_REVOKED_MAX - 1 }, (_, index) => {
      const digits = [index & 31, (index >> 5) & 31, (index >> 10) & 31].map((digit) => letters[digit]).join('');
      return `U${digits}${'A'.repeat(52)}`;
    });
    await revoke(...others, userOf(creds));
    expect(await inTime(node.closed().then(() => 'closed'))).toBe('closed');
    // The server closes the connection before it answers the revoker.
    let metrics = '';
    const users = (): number => Number(/^fairlead_revoked_users (\d+)/m.exec(metrics)?.[1]);
    const isCounted = async (): Promise<boolean> => {
      metrics = await (await ask('/metrics')).text();
      return users() > 4_000;
    };
    await eventually(isCounted);
    expect(metrics).toMatch(/^fairlead_revoked_users_left_out 0$/m);
  });

  describe('and the rights of the revoker', () => {
    const refusalOf = async (nc: NatsConnection, subject: string, text = ''): Promise<string> => {
      const refused = (async () => {
        for await (const status of nc.status()) if (status.type === 'error') return status.error.message;
        return 'not refused';
      })();
      nc.publish(subject, text);
      await nc.flush();
      return (await inTime(refused, 500)) ?? 'not refused';
    };

    it('are to read the log: it states no fact, reads no secret and makes no consumer', async () => {
      const nc = await environment.connect('revoker');
      for (const subject of [
        'evt.5.default.demo.bootstrap.AgentCredentialsRevoked',
        'evt.5.default.demo.request.ClusterDeletionRequested',
        '$JS.API.DIRECT.GET.KV_SECRETS',
        '$JS.API.DIRECT.GET.KV_SECRET_KEYS',
        '$JS.API.CONSUMER.CREATE.EVENTS.x',
        '$JS.API.STREAM.PURGE.EVENTS',
        '$KV.SECRETS.gateway.x',
        'agent.out.default.demo.w2.desired',
        '$SYS.REQ.CLAIMS.UPDATE',
      ])
        expect([subject, await refusalOf(nc, subject)]).toEqual([subject, expect.stringMatching(/permissions/i)]);
    });

    it('are to replace the claims of the nodes` account, of no other one, and to delete none', async () => {
      const services = accountOfJwt(environment);
      const nc = await environment.connect('revoker-system', { inboxPrefix: '_INBOX_revoker' });
      for (const subject of [
        claimsUpdateSubject(services.account),
        '$SYS.REQ.CLAIMS.UPDATE',
        '$SYS.REQ.CLAIMS.DELETE',
        '$SYS.REQ.SERVER.PING.CONNZ',
        `$SYS.REQ.ACCOUNT.${services.account}.CONNZ`,
        `$SYS.REQ.ACCOUNT.${accountOf(accountSigning)}.SUBSZ`,
      ])
        expect([subject, await refusalOf(nc, subject)]).toEqual([subject, expect.stringMatching(/permissions/i)]);
      // Claims of the services' account, well signed, by the subject of the nodes'.
      const forged = signAccount(
        { ...accountSigning, accountJwt: services.jwt },
        NO_STATE,
        Math.floor(Date.now() / 1_000),
      );
      const answer = await nc.request(claimsUpdateSubject(accountOf(accountSigning)), forged, { timeout: 2_000 });
      expect(answer.string()).toContain('error');
      await expect(environment.connect('admin')).resolves.toBeDefined();
    });

    it("are not those of any other credential: the administrator of the services' account replaces no claims", async () => {
      const admin = await environment.connect('admin');
      const before = accountStateIn(signAccount(accountSigning, NO_STATE, Math.floor(Date.now() / 1_000)));
      expect(before.revocations).toEqual({});
      const creds = credsOf('w7');
      await revoke(userOf(creds));
      await eventually(() => isRefused(creds).catch(() => false));
      const without = signAccount(accountSigning, NO_STATE, Math.floor(Date.now() / 1_000) + 60);
      await inTime(
        admin.request(claimsUpdateSubject(accountOf(accountSigning)), without, { timeout: 500 }).catch(String),
      );
      expect(await isRefused(creds)).toBe(true);
    });
  });
});

/** The account of the services, as the server's configuration has it. */
const accountOfJwt = ({ dataDir }: TestEnvironment): { readonly account: string; readonly jwt: string } => {
  const config = readFileSync(join(dataDir, 'nats', 'nats.conf'), 'utf8');
  const [account = ''] = [...config.matchAll(/^ {2}(A\w{55}): (\S+)$/gm)].flatMap(([, key = '', jwt = '']) =>
    jwt.includes('.') && config.indexOf(key) >= 0 && isServices(jwt) ? [key] : [],
  );
  const [, jwt = ''] = new RegExp(`^ {2}${account}: (\\S+)$`, 'm').exec(config) ?? [];
  return { account, jwt };
};

const isServices = (jwt: string): boolean => {
  const [, body = ''] = jwt.split('.');
  return (JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as { name: string }).name === 'FAIRLEAD';
};
