import type {
  ClusterManifestView,
  ClusterTemplateList,
  ClusterTemplateView,
  ClusterUid,
  ErrorView,
  Fact,
  NodeName,
  StoredEvent,
  UpgradeId,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { useGateway, type ApiResponse } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';

const gateway = useGateway();

const TYPE = { apiVersion: 'fairlead.dev/v1alpha1' };
const machines = { connection: 'lab', machineType: 'lab.small' };
const values = {
  version: '1.34.4',
  network: { cni: 'cilium' },
  controlPlane: { replicas: 1, ...machines },
  pools: { ...machines, health: { unhealthyAfter: '3m' } },
};

type TemplateAnswer = ApiResponse<ClusterTemplateView & Omit<ErrorView, 'kind'>>;
type ClusterAnswer = ApiResponse<ClusterManifestView & Omit<ErrorView, 'kind'>>;

const templatePath = (name: string) => `/ns/default/cluster-templates/${name}`;
const applyTemplate = (
  name: string,
  cluster: object = values,
  spec: object = {},
  query = '',
): Promise<TemplateAnswer> =>
  gateway.ask('PUT', `${templatePath(name)}${query}`, {
    body: { ...TYPE, kind: 'ClusterTemplate', metadata: { name }, spec: { ...spec, cluster } },
  });
const deleteTemplate = (name: string, replica = 0): Promise<TemplateAnswer> =>
  gateway.ask('DELETE', templatePath(name), { replica });

const clusterPath = (name: string) => `/ns/default/clusters/${name}/manifest`;
const applyCluster = (name: string, spec: object, { query = '', replica = 0 } = {}): Promise<ClusterAnswer> =>
  gateway.ask('PUT', `${clusterPath(name)}${query}`, {
    body: { ...TYPE, kind: 'Cluster', metadata: { name }, spec },
    replica,
  });
const readCluster = async (name: string): Promise<ClusterManifestView> =>
  (await gateway.ask<ClusterManifestView>('GET', clusterPath(name))).body;
const patchCluster = (name: string, spec: object, query = ''): Promise<ClusterAnswer> =>
  gateway.ask('PATCH', `${clusterPath(name)}${query}`, { body: { spec } });

const workers = (replicas: number) => ({ pools: [{ name: 'web', replicas }] });
const node = 'demo-w-1' as NodeName;
const logLength = async (): Promise<number> => (await gateway.log()).length;
const typesOf = async (cluster: string): Promise<readonly StoredEvent['type'][]> =>
  (await gateway.log(`evt.*.default.${cluster}.>`)).map(({ type }) => type);

const machinesOnly = { ...values, controlPlane: machines };

/** The manifest of a cluster that is Ready, with all its nodes at its version. */
const readyCluster = async (name: string, template: string): Promise<object> => {
  const pools = [{ name: 'worker-1', replicas: 2 }];
  const spec = { template, controlPlane: { replicas: 3 }, pools };
  const { body } = await applyCluster(name, spec);
  const about = (fact: Fact): Fact => JSON.parse(JSON.stringify(fact).replaceAll(storyUid, body.metadata.uid)) as Fact;
  for (const fact of CREATE.slice(1)) await gateway.state(about(fact), { cluster: name });
  return spec;
};

describe('a cluster template', () => {
  it('is applied as a manifest is: an equal document records nothing, and what is unknown is refused with the nearest name', async () => {
    const created = await applyTemplate('first', values, { description: 'For trials' });
    expect([created.status, created.body.spec]).toMatchObject([201, { description: 'For trials', deprecated: false }]);
    const shown = `?minSeq=${created.body.metadata.resourceVersion}`;
    const { body } = await gateway.ask<ClusterTemplateView>('GET', `${templatePath('first')}${shown}`);
    expect(body).toMatchObject({
      spec: { cluster: { version: 'v1.34.4', pools: { health: { unhealthyAfter: '3m', maxUnhealthy: '40%' } } } },
      status: { revision: Number(body.metadata.resourceVersion), clusters: [] },
    });
    const before = await logLength();
    const again = await gateway.ask('PUT', templatePath('first'), { body });
    expect([again.status, await logLength()]).toEqual([200, before]);
    const misspelt = await applyTemplate('first', { ...values, netwrok: {} });
    expect([misspelt.status, misspelt.body.errors[0]?.help]).toEqual([400, 'Did you mean spec.cluster.network?']);
    expect((await applyTemplate('second', values, {}, '?dryRun=All')).status).toBe(200);
    expect(await logLength()).toBe(before);
    const { body: list } = await gateway.ask<ClusterTemplateList>('GET', '/ns/default/cluster-templates');
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(['first']);
  });

  it('never changes its values: only its description, and whether it is deprecated', async () => {
    const changed = await applyTemplate('first', { ...values, version: 'v1.35.4' });
    expect([changed.status, changed.body.reason]).toEqual([422, 'template.values-immutable']);
    const { body } = await applyTemplate('first', values, { description: 'For more trials' });
    expect(body.spec.description).toBe('For more trials');
    const stale = { ...body, metadata: { ...body.metadata, resourceVersion: '1' } };
    const refused = await gateway.ask('PUT', templatePath('first'), { body: stale });
    expect([refused.status, refused.body['reason']]).toEqual([409, 'template.resource-version']);
  });

  it('gives a cluster what it does not declare itself, resolved into its own manifest', async () => {
    const { status, body } = await applyCluster('shop', { template: 'first', ...workers(2) });
    expect([status, body.errors]).toEqual([202, undefined]);
    expect(body.spec).toMatchObject({
      template: 'first',
      version: 'v1.34.4',
      serviceType: 'single',
      network: { cni: 'cilium', podCidr: '10.244.0.0/16' },
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 2, ...machines, health: { unhealthyAfter: '3m' } }],
    });
    expect(await typesOf('shop')).toEqual(['ClusterRequested', 'ClusterTemplateChosen', 'ClusterSpecChanged']);
    const { revision } = (await gateway.ask<ClusterTemplateView>('GET', templatePath('first'))).body.status!;
    const read = await readCluster('shop');
    expect(read.status?.template).toEqual({ name: 'first', revision, deprecated: false });
    const before = await logLength();
    expect((await gateway.ask('PUT', clusterPath('shop'), { body: read })).status).toBe(200);
    expect((await applyCluster('shop', { template: 'first', ...workers(2) })).status).toBe(200);
    expect(await logLength()).toBe(before);
  });

  it('is what its clusters cannot declare otherwise, each field with its own refusal', async () => {
    const { status, body } = await applyCluster('shop', {
      ...{ template: 'first', version: '1.33.5', network: { cni: 'flannel' } },
      pools: [{ name: 'web', machineType: 'lab.large' }],
    });
    expect(status).toBe(422);
    expect(body.errors.map(({ reason, field }) => [reason, field])).toEqual([
      ['template.field-fixed', 'spec.version'],
      ['template.field-fixed', 'spec.network.cni'],
      ['template.field-fixed', 'spec.pools[0].machineType'],
    ]);
    const missing = await applyCluster('bare', { template: 'first', controlPlane: { replicas: 3 } });
    expect(missing.body.errors[0]?.field).toBe('spec.controlPlane.replicas');
    const without = await applyCluster('bare', workers(1));
    expect([without.status, without.body.errors.map(({ field }) => field)]).toEqual([
      400,
      ['spec.controlPlane', 'spec.pools[0].connection', 'spec.pools[0].machineType'],
    ]);
  });

  it('that is deprecated is kept by its clusters, and chosen by no other [azimuth 32]', async () => {
    await applyTemplate('old', machinesOnly);
    const early = await readyCluster('early', 'old');
    expect((await applyTemplate('old', machinesOnly, { deprecated: true })).status).toBe(200);
    const late = await applyCluster('late', { template: 'old', ...workers(1) });
    expect([late.status, late.body.reason, await typesOf('late')]).toEqual([409, 'template.deprecated', []]);
    const pools = [{ name: 'worker-1', replicas: 3 }];
    const kept = await applyCluster('early', { ...early, pools });
    expect([kept.status, kept.body.plan?.map(({ action }) => action)]).toEqual([202, ['add-nodes']]);
    expect((await readCluster('early')).status?.template?.deprecated).toBe(true);
  });

  it('that cluster names is refused where its version is lower, or more than one minor above the cluster or its oldest kubelet [azimuth 32]', async () => {
    for (const version of ['1.33.13', '1.35.4', '1.36.3'])
      await applyTemplate(`v${version.replaceAll('.', '-')}`, { ...machinesOnly, version });
    await applyTemplate('v1-34-4', machinesOnly);
    await readyCluster('steps', 'v1-34-4');
    const reasonOf = async (template: string): Promise<unknown> => {
      const { status, body } = await patchCluster('steps', { template });
      return [status, body.reason];
    };
    expect(await reasonOf('v1-33-13')).toEqual([422, 'template.version-lower']);
    expect(await reasonOf('v1-36-3')).toEqual([422, 'template.version-step']);
    expect((await patchCluster('steps', { template: 'v1-35-4' }, '?dryRun=All')).body.plan).toMatchObject([
      { action: 'upgrade' },
    ]);
    const upgrade = await gateway.ask('POST', '/ns/default/clusters/steps/upgrades', { body: { version: 'v1.35.4' } });
    expect([upgrade.status, upgrade.body['reason']]).toEqual([409, 'template.version-fixed']);
    // A node that was held out of upgrades.
    const { uid } = (await readCluster('steps')).metadata;
    const software = { kubelet: '1.33.13' };
    const old: Fact = { type: 'NodeReady', data: { uid: uid as ClusterUid, node, revision: 2, software } };
    const { meta } = await gateway.state(old, { cluster: 'steps' });
    await gateway.ask('GET', `/ns/default/clusters?minSeq=${meta.seq}`);
    expect(await reasonOf('v1-35-4')).toEqual([422, 'template.kubelet-too-old']);
  });

  it('that an upgrade did not reach is no longer declared: the manifest names the previous one, which is in use again', async () => {
    await applyTemplate('before', machinesOnly);
    await applyTemplate('next', { ...machinesOnly, version: '1.35.4' });
    await readyCluster('back', 'before');
    const { uid } = (await readCluster('back')).metadata;
    expect((await patchCluster('back', { template: 'next' })).status).toBe(202);
    const declared = async (): Promise<unknown> => {
      const { spec, status } = await readCluster('back');
      return [spec.template, spec.version, status?.template?.name];
    };
    expect(await declared()).toEqual(['next', 'v1.35.4', 'next']);
    const [requested] = await gateway.log('evt.*.default.back.request.UpgradeRequested');
    const { upgradeId } = requested!.data as { readonly upgradeId: UpgradeId };
    const findings = [
      { rule: 'B2', severity: 'refuse' as const, sentence: 'a node is not Ready', facts: {}, help: '' },
    ];
    const rejected: Fact = { type: 'UpgradeRejected', data: { uid: uid as ClusterUid, upgradeId, findings } };
    const { meta } = await gateway.state(rejected, { cluster: 'back' });
    await gateway.ask('GET', `/ns/default/clusters?minSeq=${meta.seq}`);
    expect(await declared()).toEqual(['before', 'v1.34.4', 'before']);
    expect((await deleteTemplate('before')).status).toBe(409);
    expect((await deleteTemplate('next')).status).toBe(200);
  });

  it('in use is not deleted, and its clusters are named; once none has it, it is', async () => {
    const used = await deleteTemplate('first');
    expect([used.status, used.body.message]).toEqual([409, 'Template first cannot be deleted: it is in use by shop']);
    expect((await gateway.ask<ClusterTemplateView>('GET', templatePath('first'))).body.spec.deprecated).toBe(false);
    await applyTemplate('unused');
    expect((await deleteTemplate('unused')).status).toBe(200);
    expect((await gateway.ask('GET', templatePath('unused'))).status).toBe(404);
    expect((await deleteTemplate('unused')).status).toBe(404);
  });
});

describe('a template that is deleted while a cluster chooses it', () => {
  const never = Number.POSITIVE_INFINITY;
  /** How long the deletion waits for the cluster, in ms; negative: the other way round. The first and the last do not overlap. */
  const LEADS = [-never, -20, -5, -1, 0, 1, 2, 5, 10, 15, 20, 30, 40, 60, never];

  const both = async <One, Other>(
    first: () => Promise<One>,
    second: () => Promise<Other>,
    leadMs: number,
  ): Promise<[One, Other]> => {
    const one = first();
    await (leadMs === never ? one : new Promise((resolve) => setTimeout(resolve, leadMs)));
    return Promise.all([one, second()]);
  };

  it('is chosen by none and gone, or chosen and there, whichever comes first, at whichever replica [azimuth 32]', async () => {
    const other = await gateway.startReplica();
    const outcomes: string[] = [];
    for (const [round, leadMs] of LEADS.entries()) {
      const [template, cluster] = [`race-${round}`, `raced-${round}`];
      await applyTemplate(template);
      const create = () => applyCluster(cluster, { template, ...workers(1) }, { replica: other.index });
      const remove = () => deleteTemplate(template);
      const [created, deleted] =
        leadMs >= 0 ? await both(create, remove, leadMs) : (await both(remove, create, -leadMs)).toReversed();
      const isThere = (await gateway.ask('GET', templatePath(template))).status === 200;
      const isChosen = (await typesOf(cluster)).includes('ClusterTemplateChosen');
      outcomes.push(`${isThere ? 'there' : 'gone'}, ${isChosen ? 'chosen' : 'chosen by none'}`);
      expect([created?.status === 202, deleted?.status]).toEqual([isChosen, isThere ? 409 : 200]);
      if (isThere) expect(deleted?.body.message).toContain(cluster);
    }
    await other.stop();
    expect([outcomes[0], outcomes.at(-1)]).toEqual(['gone, chosen by none', 'there, chosen']);
    expect(new Set(outcomes)).toEqual(new Set(['gone, chosen by none', 'there, chosen']));
  }, 60_000);
});
