import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { FakeGateway, refusal, type Received } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const MANIFEST = '/ns/default/clusters/demo/manifest';
const GENERATIONS = `${MANIFEST}/generations`;
const event = {
  ...{ seq: 61, type: 'ClusterSpecChanged', time: '2026-11-21T08:00:00Z', actor: 'user/ada' },
  sentence: 'manifest revision 1 was applied: web 2',
};
const generation = (number: number, changes: readonly object[], more: object = {}) => ({
  ...{ generation: number, current: number === 3, event: { ...event, seq: 58 + number }, changes, changesLeftOut: 0 },
  ...more,
});
const replicas = (before: string | null, after: string | null) => ({ field: 'pools[web].replicas', before, after });

const manifestOf = (size: number, more: object = {}) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default' },
  spec: {
    version: 'v1.34.4',
    paused: true,
    controlPlane: { replicas: 1 },
    pools: [{ name: 'web', replicas: size, connection: 'lab', machineType: 'lab.medium' }],
    ...more,
  },
});
const now = (size: number, more: object = {}) => {
  const { metadata, ...others } = manifestOf(size, more);
  const labels = { team: 'shop' };
  return { ...others, metadata: { ...metadata, uid: 'u', resourceVersion: '61', labels }, plan: [], operations: [] };
};

let gateway: FakeGateway;
beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  const items = [generation(3, [replicas('4', '2')]), generation(2, [replicas('1', '4')]), generation(1, [])];
  gateway.on('GET', GENERATIONS, { body: { kind: 'ManifestGenerationList', items, earlierLeftOut: 0 } });
  gateway.on('GET', `${GENERATIONS}/2`, { body: manifestOf(4) });
  gateway.on('GET', MANIFEST, { body: now(2, { version: 'v1.35.4' }) });
  gateway.on('PUT', MANIFEST, ({ body }: Received) => ({ body: { ...now(4), ...withVersion(body), plan: [] } }));
});
afterEach(() => gateway.stop());

const withVersion = (body: unknown) => {
  const sent = body as { readonly metadata: object; readonly spec: object };
  return { spec: sent.spec, metadata: { ...now(4).metadata, ...sent.metadata, resourceVersion: '61' } };
};
const cluster = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'cluster', ...args]);
const sent = () => gateway.asked('PUT', MANIFEST).map(({ body, query }) => ({ body, query }));

describe('fairlead cluster history', () => {
  it('lists the generations with actor and change, latest first', async () => {
    const { code, stdout } = await cluster('history', 'demo');
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      expect.stringMatching(/^GENERATION +EVENT +TIME +ACTOR +CHANGE$/),
      expect.stringMatching(
        /^3 \(current\) +ClusterSpecChanged \(61\) +2026\S+ +user\/ada +pools\[web\].replicas: 4 → 2$/,
      ),
      expect.stringMatching(/^2 +.* pools\[web\].replicas: 1 → 4$/),
      expect.stringMatching(/^1 +.* manifest revision 1 was applied: web 2$/),
    ]);
  });

  it('prints the manifest of a generation, which can be applied', async () => {
    const { stdout } = await cluster('history', 'demo', '--generation', '2');
    expect(parse(stdout)).toEqual(manifestOf(4));
  });
});

describe('fairlead cluster rollback', () => {
  it('prints the changes, and changes nothing in a dry run', async () => {
    const { code, stdout } = await cluster('rollback', 'demo', '--to', '2', '--dry-run');
    expect([code, stdout]).toEqual([0, expect.stringContaining('pools[web].replicas: 2 → 4')]);
    expect(sent().map(({ query }) => query['dryRun'])).toEqual(['All']);
  });

  it('defaults to the previous generation, and asks before it declares it again', async () => {
    const refused = await run(['--server', gateway.url, 'cluster', 'undo', 'demo'], fakeIo({ answer: 'n' }));
    expect(refused.code).not.toBe(0);
    expect(sent().map(({ query }) => query)).toEqual([{ dryRun: 'All' }]);
    const { code, stdout } = await cluster('rollback', 'demo', '--yes', '--no-wait');
    expect([code, stdout]).toEqual([0, 'cluster/demo configured\n']);
    const [last] = sent().slice(-1);
    expect(last).toMatchObject({
      query: {},
      body: { metadata: { name: 'demo', resourceVersion: '61', labels: {} }, spec: { version: 'v1.34.4' } },
    });
    // A rollback never pauses or resumes.
    expect(last?.body).not.toHaveProperty('spec.paused');
  });

  it('keeps the Kubernetes version on request, and advises this if only the version is refused', async () => {
    await cluster('rollback', 'demo', '--to', '2', '--keep-version', '--yes', '--no-wait');
    expect(sent().at(-1)?.body).toMatchObject({ spec: { version: 'v1.35.4' } });
    gateway.on('PUT', MANIFEST, refusal(422, 'upgrade.minor-downgrade', 'No.', { field: 'spec.version' }));
    const { code, stderr } = await cluster('rollback', 'demo', '--to', '2', '--yes');
    expect(code).toBe(7);
    expect(stderr).toContain('Undo everything else with "fairlead cluster rollback demo --to 2 --keep-version".');
  });

  it('is refused for a cluster that was never changed', async () => {
    gateway.on('GET', GENERATIONS, {
      body: { kind: 'ManifestGenerationList', items: [generation(1, [])], earlierLeftOut: 0 },
    });
    const { code, stderr } = await cluster('rollback', 'demo', '--yes');
    expect([code, stderr]).toEqual([2, expect.stringContaining('has one generation only')]);
    expect(sent()).toEqual([]);
  });
});
