import type { ClusterManifestView, ClusterTemplateView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const [OLD, NEW] = ['v1.34.4', 'v1.35.4'];
const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const TYPE = { apiVersion: 'fairlead.dev/v1alpha1' };
const PATH = '/ns/default/clusters/shop';
const templatePath = (name: string): string => `/ns/default/cluster-templates/${name}`;

const manifest = (template: string) => ({
  ...TYPE,
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: { template, pools: [{ name: 'web', replicas: 1 }] },
});

/** The whole product in the lab: an agent on each host changes its software. */
describe('a cluster with a template', () => {
  let system: System;
  const template = (name: string, version: string) =>
    system.call<ClusterTemplateView>('PUT', templatePath(name), {
      ...{ ...TYPE, kind: 'ClusterTemplate', metadata: { name } },
      spec: {
        cluster: { version, serviceType: 'single', controlPlane: { replicas: 1, ...machines }, pools: machines },
      },
    });
  const put = (body: object) => system.call<ClusterManifestView>('PUT', `${PATH}/manifest`, body);
  const remove = (name: string) => system.call<{ readonly message: string }>('DELETE', templatePath(name));
  const read = async (): Promise<ClusterManifestView> => {
    const minSeq = (await system.events('shop')).at(-1)?.meta.seq ?? 0;
    return (await system.call<ClusterManifestView>('GET', `${PATH}/manifest?minSeq=${minSeq}`)).body;
  };
  const addons = async () =>
    ((await read()).status?.addons ?? []).map(({ name, phase, version, revision }) => [name, phase, version, revision]);
  const isOver = ({ type }: StoredEvent): boolean =>
    ['UpgradeRejected', 'RolloutCompleted', 'RolloutHalted', 'RolloutAborted'].includes(type);

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    for (const [name, version] of [
      ['old', OLD],
      ['new', NEW],
    ] as const)
      expect((await template(name, version)).status).toBe(201);
    expect((await put(manifest('old'))).status).toBe(202);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it('has its values when it is Ready, and prevents its deletion', async () => {
    await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    const { spec, status } = await read();
    expect([spec.version, spec.pools[0]?.connection, status?.template?.name]).toEqual([OLD, 'lab', 'old']);
    const refused = await remove('old');
    expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('shop')]);
    expect(await addons()).toEqual([
      ['flannel', 'Deployed', expect.any(String), 1],
      ['kube-proxy', 'Deployed', OLD, 1],
      ['coredns', 'Deployed', expect.any(String), 1],
    ]);
  });

  it(
    'is upgraded by naming another template, including its addons, and releases the former one',
    async () => {
      const { status, body } = await put(manifest('new'));
      expect([status, body.spec.version]).toEqual([202, NEW]);
      const end = await system.until('shop', isOver, 120_000);
      expect([end.type, end.data]).toMatchObject(['RolloutCompleted', { skipped: [] }]);
      const now = await read();
      expect([now.spec.version, now.status?.template?.name]).toEqual([NEW, 'new']);
      expect(await addons()).toContainEqual(['kube-proxy', 'Deployed', NEW, 2]);
      expect([(await remove('old')).status, (await remove('new')).status]).toEqual([200, 409]);
    },
    TIMEOUT_MS,
  );
});
