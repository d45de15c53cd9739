import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_PATHS, type Machine, type StoredEvent } from '@fairlead/contracts';
import { claimsOfCreds } from '@fairlead/embedded/credentials';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 300_000;
/** Renewed after a third of it; a day by default. */
const LIFETIME_S = 60;

/** The whole product in the lab, and a worker that is powered off. */
describe("a host that is off for longer than the lifetime of its agent's NATS credential", () => {
  let system: System;
  let worker: Machine | undefined;

  const until = (type: StoredEvent['type'], after = 0): Promise<StoredEvent> =>
    system.until('off', (event) => event.type === type && event.meta.seq > after && isOfWorker(event), TIMEOUT_MS);
  /** Also matches events of no node, or before the worker is known. */
  const isOfWorker = ({ data }: StoredEvent): boolean =>
    !('node' in data) || worker === undefined || data.node === worker.name;
  const power = (action: 'power-cut' | 'start'): Promise<unknown> =>
    system.lab('POST', `/v1/machines/${worker?.providerId.split('/').at(-1)}/power`, { action });
  const claims = (): ReturnType<typeof claimsOfCreds> => {
    const folder = join(system.environment.dataDir, 'lab');
    const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(AGENT_PATHS.credentials))
      .map((path) => claimsOfCreds(readFileSync(join(folder, path), 'utf8')))
      .find(({ name }) => name.endsWith(`/${worker?.name}`));
    if (found === undefined) throw new Error(`${worker?.name} has no credential`);
    return found;
  };

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { AGENT_CREDENTIAL_LIFETIME_S: String(LIFETIME_S), NODE_LOST_AFTER_MS: '10000' },
    });
    const body = clusterBody('off', { controlPlanes: 1, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await until('ClusterReady');
    const created = await until('VmsCreated');
    const { machines } = created.data as { readonly machines: readonly Machine[] };
    worker = machines.find(({ role }) => role === 'worker');
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'gets a new one by SSH when it is back, without a request',
    async () => {
      const before = (await system.events('off')).at(-1)?.meta.seq;
      await power('power-cut');
      const lost = await until('NodeLost', before);
      const { sub: former, exp = Number.POSITIVE_INFINITY } = claims();
      await eventually(() => Date.now() > (exp + 1) * 1_000, { withinMs: 3 * LIFETIME_S * 1_000 });
      await power('start');

      const issued = await until('AgentCredentialIssued', lost.meta.seq);
      expect(issued.data).toMatchObject({ node: worker?.name, lifetimeSeconds: LIFETIME_S });
      const recovered = (await until('NodeRecovered', lost.meta.seq)).meta.seq;
      expect(recovered).toBeGreaterThan(issued.meta.seq);
      expect(claims().sub).not.toBe(former);
      expect((await system.events('off')).map(({ type }) => type)).not.toContain('BootstrapStepFailed');
    },
    2 * TIMEOUT_MS,
  );
});
