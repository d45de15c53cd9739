import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentOutputSubject,
  agentRenewSubject,
  AGENT_PATHS,
  type AgentCredentialsMessage,
  type StoredEvent,
} from '@fairlead/contracts';
import { claimsOfCreds } from '@fairlead/embedded/credentials';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 300_000;
const WITHIN_MS = 2_000;
/** Minimum interval of bootstrap-svc's answers to a node. */
const ASKED_AGAIN_MS = 10_500;
const CLUSTER = '/ns/default/clusters/left';
const FOREIGN_USER = `U${'A'.repeat(55)}`;

/**
 * The whole product in the lab, and a thief who copied the credentials of its hosts and uses them beside the agents.
 */
describe('credentials stolen from hosts', () => {
  let system: System;
  let uid: string;
  let worker: Stolen;
  let controlPlane: Stolen;

  interface Stolen {
    readonly node: string;
    readonly creds: string;
    readonly nc: NatsConnection;
  }

  const connectAs = (creds: string): Promise<NatsConnection> =>
    connect({
      servers: system.environment.nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
      reconnect: false,
    });
  const steal = async (role: 'cp' | 'w'): Promise<Stolen> => {
    const folder = join(system.environment.dataDir, 'lab');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const creds = files
      .filter((path) => path.endsWith(AGENT_PATHS.credentials))
      .map((path) => readFileSync(join(folder, path), 'utf8'))
      .find((text) => claimsOfCreds(text).name.startsWith(`default/left/left-${role}-`));
    if (creds === undefined) throw new Error(`no host of the lab has credentials of left-${role}`);
    const [, , node = ''] = claimsOfCreds(creds).name.split('/');
    return { node, creds, nc: await connectAs(creds) };
  };
  const until = (desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('left', desired, TIMEOUT_MS);
  const isClosed = (nc: NatsConnection): Promise<boolean> =>
    Promise.race([
      nc.closed().then(() => true),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), WITHIN_MS).unref()),
    ]);
  const renewed = async ({ node, nc }: Stolen, user: string): Promise<AgentCredentialsMessage | undefined> => {
    const address = { namespace: 'default', cluster: 'left', node };
    const subscription = nc.subscribe(agentOutputSubject(address, '*' as 'credentials'));
    await nc.flush();
    nc.publish(agentRenewSubject(address), JSON.stringify({ uid, user }));
    const answered = (async () => {
      for await (const message of subscription)
        if (message.subject.endsWith('.credentials')) return message.json<AgentCredentialsMessage>();
      return undefined;
    })();
    const waited = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), WITHIN_MS).unref());
    const answer = await Promise.race([answered, waited]);
    subscription.unsubscribe();
    return answer;
  };

  beforeAll(async () => {
    system = await startSystem({ light: false });
    const asked = await system.call<{ uid: string }>(
      'POST',
      '/ns/default/clusters',
      clusterBody('left', { controlPlanes: 1, workers: 1 }),
    );
    expect(asked.status).toBe(202);
    const ready = await until(({ type }) => type === 'ClusterReady');
    uid = (ready.data as { readonly uid: string }).uid;
    [worker, controlPlane] = [await steal('w'), await steal('cp')];
  }, TIMEOUT_MS);
  afterAll(async () => {
    await Promise.all([worker?.nc.close(), controlPlane?.nc.close()]);
    await system?.stop();
  }, 60_000);

  it('belong to users named in the log, each of one node', async () => {
    const issued = (await system.events('left')).flatMap((event) =>
      event.type === 'AgentCredentialIssued' ? [[event.data.node, event.data.user]] : [],
    );
    for (const { node, creds } of [worker, controlPlane])
      expect(issued).toContainEqual([node, claimsOfCreds(creds).sub]);
  });

  it('cannot get claims for another user, whom no removal would revoke', async () => {
    expect(await renewed(worker, FOREIGN_USER)).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, ASKED_AGAIN_MS));
    const { sub } = claimsOfCreds(worker.creds);
    expect(await renewed(worker, sub)).toMatchObject({ user: sub });
  }, 60_000);

  it(
    'are invalid once their node is removed, while those of the other node remain valid',
    async () => {
      expect((await system.call('DELETE', `${CLUSTER}/nodes/${worker.node}`)).status).toBeLessThan(300);
      await until(({ type, data }) => type === 'NodeRemoved' && 'node' in data && data.node === worker.node);
      expect(await isClosed(worker.nc)).toBe(true);
      await expect(connectAs(worker.creds)).rejects.toThrow(/authorization violation|authentication/i);
      expect(controlPlane.nc.isClosed()).toBe(false);
      await (await connectAs(controlPlane.creds)).close();
    },
    TIMEOUT_MS,
  );

  it(
    'are invalid once their cluster is deleted, even after a kill -9 of NATS',
    async () => {
      expect((await system.call('DELETE', CLUSTER)).status).toBeLessThan(300);
      await until(({ type }) => type === 'ClusterDismantled');
      expect(await isClosed(controlPlane.nc)).toBe(true);
      await expect(connectAs(controlPlane.creds)).rejects.toThrow(/authorization violation|authentication/i);
      await until(({ type }) => type === 'ClusterDeleted');
      await system.environment.killNats();
      await system.environment.startNats();
      for (const { creds } of [worker, controlPlane])
        await expect(connectAs(creds)).rejects.toThrow(/authorization violation|authentication/i);
    },
    TIMEOUT_MS,
  );
});
