import { AGENT_PATHS, AgentConfig, heartbeatSubject, type Heartbeat } from '@fairlead/contracts';
import { certificateIn, newAuthority, readAuthorities, serverNames, writeAuthorities } from '@fairlead/embedded';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { eventuallyPasses } from '@fairlead/testing';
import { LogEnvironment } from '../../test/log.environment.js';
import { MemoryHost } from '../../test/memory.host.js';
import { startAgent, type RunningAgent } from '../agent.js';

const SOFTWARE = { containerd: '1.7.24', kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' };
/** Renewed after a third of it. */
const LIFETIME_S = 6;
const DEADLINE_MS = 30_000;

describe('an agent when the CA of NATS is rotated', () => {
  let log: LogEnvironment;
  let agent: RunningAgent;
  let host: MemoryHost;
  let heartbeats = 0;
  const said: string[] = [];

  beforeEach(async () => {
    said.length = 0;
    log = await LogEnvironment.start('127.0.0.18');
    await log.renewCredentials();
  }, 60_000);
  afterEach(async () => {
    await agent?.stop();
    await log?.stop();
  }, 30_000);

  const configOnHost = (): AgentConfig => AgentConfig.parse(JSON.parse(host.files.get(AGENT_PATHS.config) ?? 'null'));
  const countOf = (pem: string | undefined): number => pem?.match(/BEGIN CERTIFICATE/g)?.length ?? 0;
  const write = (authorities: Parameters<typeof writeAuthorities>[1]) =>
    writeAuthorities(log.dataDir, authorities, { names: serverNames(log.dataDir), now: new Date() });
  const start = async (): Promise<void> => {
    const config = AgentConfig.parse({
      namespace: 'default',
      cluster: 'demo',
      node: 'demo-w-1-aaaaa',
      uid: randomUUID(),
      role: 'worker',
      natsUrls: [log.url],
      ...log.trust(),
      heartbeatIntervalMs: 200,
      desired: { revision: 1, software: SOFTWARE, changesAllowed: true },
      nodeLabels: { 'fairlead.dev/pool': 'w' },
    });
    host = new MemoryHost();
    host.files.set(AGENT_PATHS.config, JSON.stringify(config, undefined, 2));
    heartbeats = 0;
    log.admin.subscribe(heartbeatSubject(config.namespace, config.cluster, config.node), {
      callback: (_error, message) => {
        message.json<Heartbeat>();
        heartbeats += 1;
      },
    });
    const credentials = await log.credentials(config, LIFETIME_S);
    agent = await startAgent({ config, host, credentials, log: (_level, message) => said.push(message) });
  };

  it('receives the new CA with its credential, stores it on its host, and connects to a NATS that uses it', async () => {
    const { current } = readAuthorities(log.dataDir) ?? never();
    await start();
    await eventuallyPasses(() => expect(heartbeats).toBeGreaterThan(0), { withinMs: DEADLINE_MS });
    const pair = await newAuthority(new Date());
    await write({ current, other: { role: 'next', pair, announcedAt: new Date().toISOString() } });
    await eventuallyPasses(() => expect(countOf(configOnHost().natsCa)).toBe(2), { withinMs: DEADLINE_MS });
    await write({ current: pair, other: { role: 'previous', certificate: certificateIn(current) } });
    await log.restartNats();
    const before = heartbeats;
    await eventuallyPasses(() => expect(heartbeats).toBeGreaterThan(before + 2), { withinMs: DEADLINE_MS });
  }, 90_000);

  it('keeps its CAs if NATS cannot be reached with the received ones', async () => {
    const before = log.trust().natsCa;
    await start();
    log.authorities = certificateIn(await newAuthority(new Date()));
    await eventuallyPasses(
      () => expect(said).toContain('other authorities of NATS cannot be used; the present ones stay'),
      { withinMs: DEADLINE_MS },
    );
    expect(configOnHost().natsCa).toBe(before);
    await log.restartNats();
    const soFar = heartbeats;
    await eventuallyPasses(() => expect(heartbeats).toBeGreaterThan(soFar), { withinMs: DEADLINE_MS });
  }, 90_000);
});

const never = (): never => {
  throw new Error('it is there');
};
