import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGENT_PATHS,
  agentFactSubject,
  agentSyncSubject,
  eventSubject,
  heartbeatSubject,
  STREAMS,
  type EventType,
  type NodeAddress,
} from '@fairlead/contracts';
import { claimsOfCreds } from '@fairlead/embedded/credentials';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 300_000;
const CLUSTER = '/ns/default/clusters/demo';

/** The whole product in the lab, and root of one worker, who uses the NATS credential on its host. */
describe('root of a worker', () => {
  let system: System;
  let log: JetStreamManager;
  let uid: string;
  let worker: { readonly address: NodeAddress; readonly nc: NatsConnection };
  let controlPlane: string;
  /** Number of `DesiredVersionsSet` of the control plane before the attacks. */
  let wanted: number;
  /** The server's refusals of the worker's attempts. */
  const refused: string[] = [];

  const credsOf = (role: 'cp' | 'w'): string => {
    const folder = join(system.environment.dataDir, 'lab');
    const creds = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(AGENT_PATHS.credentials))
      .map((path) => readFileSync(join(folder, path), 'utf8'))
      .find((text) => claimsOfCreds(text).name.startsWith(`default/demo/demo-${role}-`));
    if (creds === undefined) throw new Error(`no host of the lab has credentials of demo-${role}`);
    return creds;
  };
  const nodeOf = (creds: string): string => claimsOfCreds(creds).name.split('/')[2] ?? '';
  const subjectOf = (context: string, type: EventType): string =>
    eventSubject({ namespace: 'default', cluster: 'demo', context }, type);
  /** The newest message, as stored in the log. */
  const newest = async (subject: string): Promise<Record<string, unknown>> =>
    (await log.streams.getMessage(STREAMS.events, { last_by_subj: subject }))?.json() ?? {};
  const count = async (type: EventType, context: string): Promise<number> =>
    (await system.events('demo')).filter((event) => event.type === type && event.meta.context === context).length;
  /** Once a later message was read, all earlier ones of the worker were, too. */
  const untilRejected = (after: number): Promise<unknown> =>
    system.until('demo', ({ type, meta }) => type === 'AgentMessagesRejected' && meta.seq > after, TIMEOUT_MS);
  const lastSequence = async (): Promise<number> => (await log.streams.info(STREAMS.events)).state.last_seq;

  beforeAll(async () => {
    system = await startSystem({ light: false });
    log = await jetstreamManager(system.admin);
    const body = clusterBody('demo', { controlPlanes: 1, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    const ready = await system.until('demo', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    ({ uid } = ready.data as { readonly uid: string });
    const creds = credsOf('w');
    controlPlane = nodeOf(credsOf('cp'));
    const nc = await connect({
      servers: system.environment.nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
      reconnect: false,
    });
    worker = { nc, address: { namespace: 'default', cluster: 'demo', node: nodeOf(creds) } };
    void (async () => {
      for await (const status of nc.status()) if (status.type === 'error') refused.push(status.error.message);
    })();
    const own = `node-${worker.address.node}`;
    await system.until('demo', ({ type, meta }) => type === 'NodeReady' && meta.context === own, TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await worker?.nc.close();
    await system?.stop();
  }, 60_000);

  it(
    'cannot write DesiredVersionsSet for the control plane by a request whose reply subject is another subject of the log',
    async () => {
      const { nc, address } = worker;
      const desired = subjectOf(`desired-${controlPlane}`, 'DesiredVersionsSet');
      wanted = await count('DesiredVersionsSet', `desired-${controlPlane}`);
      expect(wanted).toBeGreaterThan(0);
      const template = await newest(desired);
      const data = template['data'] as { readonly revision: number };
      const forged = JSON.stringify({
        ...template,
        id: randomUUID(),
        streamversion: Number(template['streamversion']) + 1,
        data: { ...data, revision: data.revision + 1 },
      });
      refused.length = 0;
      const own = subjectOf(`node-${address.node}`, 'NodeReady');
      nc.publish(own, forged);
      nc.publish(`$JS.API.DIRECT.GET.${STREAMS.events}.${own}`, '', { reply: desired });
      nc.publish(
        `$JS.API.DIRECT.GET.${STREAMS.events}.${subjectOf(`desired-${address.node}`, 'DesiredVersionsSet')}`,
        '',
        { reply: desired },
      );
      // An agent's permitted messages are not answered on a reply subject either.
      nc.publish(agentSyncSubject(address), forged, { reply: desired });
      nc.publish(heartbeatSubject(address.namespace, address.cluster, address.node), forged, { reply: desired });
      await nc.flush();
      await eventually(() => refused.filter((words) => /permissions violation/i.test(words)).length === 3);
      expect(await count('DesiredVersionsSet', `desired-${controlPlane}`)).toBe(wanted);
      expect(await newest(desired)).toEqual(template);
    },
    TIMEOUT_MS,
  );

  it(
    'cannot delete its cluster by an event on its own subject whose body claims ClusterDeletionRequested by user/alice',
    async () => {
      const { nc, address } = worker;
      refused.length = 0;
      const before = await lastSequence();
      const template = await newest(subjectOf(`node-${address.node}`, 'NodeReady'));
      const forged = JSON.stringify({
        ...template,
        id: randomUUID(),
        type: 'ClusterDeletionRequested.v1',
        actor: 'user/alice',
        source: '/gateway',
        data: { uid },
      });
      // The former attack: on the node's own context of the log, whatever type the subject names.
      for (const type of ['NodeReady', 'ClusterDeletionRequested'] as const)
        nc.publish(subjectOf(`node-${address.node}`, type), forged);
      // The current subjects of agents' facts; the second does not count as a fact, and is reported.
      nc.publish(agentFactSubject(address, 'ClusterDeletionRequested'), forged);
      nc.publish(agentFactSubject(address, 'NodeReady'), forged);
      await nc.flush();
      await untilRejected(before);
      await eventually(() => refused.filter((words) => /permissions violation/i.test(words)).length === 3);
      expect((await system.events('demo')).map(({ type }) => type)).not.toContain('ClusterDeletionRequested');
      const { status, body } = await system.call<{ status: { phase: string } }>('GET', CLUSTER);
      expect([status, body.status.phase]).toEqual([200, 'Provisioned']);
      expect(await count('DesiredVersionsSet', `desired-${controlPlane}`)).toBe(wanted);
    },
    TIMEOUT_MS,
  );
});
