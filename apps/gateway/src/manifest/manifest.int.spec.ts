import {
  DeclaredSpec,
  type ClusterManifestView,
  type ClusterUid,
  type ClusterView,
  type CreatedTokenView,
  type ErrorView,
  type Fact,
  type ManifestGenerationList,
  type ManifestOfGeneration,
  type OperationList,
  type ScaleView,
  type UpgradeId,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { request, useGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';

const gateway = useGateway(async () => {
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', {
    body: request('demo', { serviceType: 'multi' }),
  });
  uid = body.uid;
  for (const fact of CREATE.slice(1)) await gateway.state(about(fact));
});
let uid: string;
const about = (fact: Fact): Fact => JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact;

const path = '/ns/default/clusters/demo/manifest';
const read = async (): Promise<ClusterManifestView> => {
  const last = (await gateway.log('evt.*.default.demo.>')).at(-1)?.meta.seq ?? 0;
  return (await gateway.ask<ClusterManifestView>('GET', `${path}?minSeq=${last}`)).body;
};
const put = (body: unknown, query = '', headers = {}) =>
  gateway.ask<ClusterManifestView & Omit<ErrorView, 'kind'>>('PUT', `${path}${query}`, { body, headers });
const patch = (body: unknown, query = '') =>
  gateway.ask<ClusterManifestView & Omit<ErrorView, 'kind'>>('PATCH', `${path}${query}`, {
    body,
    headers: { 'content-type': 'application/merge-patch+json' },
  });
const logLength = async (): Promise<number> => (await gateway.log()).length;
const machines = { connection: 'lab', machineType: 'lab.small' };

describe('the manifest of a cluster that was made by POST', () => {
  it('has every default, and says how the cluster is', async () => {
    const { metadata, spec, status } = await read();
    expect([metadata.name, metadata.namespace, metadata.uid]).toEqual(['demo', 'default', uid]);
    expect(spec.pools).toMatchObject([
      {
        ...{ name: 'worker-1', replicas: 2, ...machines, rootDisk: { type: 'default', size: 'default' } },
        rollout: { strategy: 'InPlace', maxSurge: 1, maxUnavailable: 0 },
      },
    ]);
    expect(status).toMatchObject({
      phase: 'Provisioned',
      revision: 0,
      controlPlane: { replicas: 3, readyReplicas: 3 },
      pools: [{ name: 'worker-1', replicas: 2, readyReplicas: 2 }],
    });
  });

  it('has its fields in the order of its schema, which people read', async () => {
    const { spec } = await read();
    const own = Object.keys(DeclaredSpec.shape);
    expect(Object.keys(spec)).toEqual(own.filter((field) => field in spec));
    const [pool = {}] = spec.pools;
    expect(Object.keys(pool).slice(0, 5)).toEqual(['name', 'replicas', 'connection', 'machineType', 'rootDisk']);
  });

  it('changes nothing when it is sent back [ORBITER 1, azimuth 35]', async () => {
    const before = await logLength();
    const answer = await put(await read());
    expect([answer.status, answer.body.plan, answer.body.operations]).toEqual([200, [], []]);
    expect(await logLength()).toBe(before);
  });
});

describe('a change of a manifest', () => {
  it('is planned by a dry run, which records nothing', async () => {
    const before = await logLength();
    const answer = await patch({ spec: { pools: [{ name: 'worker-1', replicas: 4, ...machines }] } }, '?dryRun=All');
    expect(answer.status).toBe(200);
    expect(answer.body.plan).toEqual([
      { action: 'add-nodes', pool: 'worker-1', count: 2, nodes: [], reason: 'add 2 machines (2 → 4)' },
    ]);
    expect(answer.body.spec.pools[0]?.replicas).toBe(4);
    expect(await logLength()).toBe(before);
  });

  it('names the field that was probably meant', async () => {
    const manifest = await read();
    const pools = [{ name: 'web', replicas: 1, connection: 'lab', machinetype: 'lab.small' }];
    const answer = await put({ ...manifest, spec: { ...manifest.spec, pools } });
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toMatchObject([
      {
        reason: 'request.unknown-field',
        field: 'spec.pools[0].machinetype',
        help: 'Did you mean spec.pools[0].machineType?',
      },
    ]);
    const without = await put({ ...manifest, spec: { ...manifest.spec, pools: [{ name: 'web', connection: 'lab' }] } });
    expect(without.body.errors).toMatchObject([
      { reason: 'request.malformed', message: 'spec.pools[0].machineType: it is missing' },
    ]);
    const patched = await patch({ spec: { netwrok: {} } });
    expect([patched.status, patched.body.errors[0]?.help]).toEqual([400, 'Did you mean spec.network?']);
  });

  it('is planned for the control planes, in the order in which they are replaced [Cluster API 21]', async () => {
    const before = await logLength();
    const planned = await patch({ spec: { controlPlane: { machineType: 'lab.large' } } }, '?dryRun=All');
    expect(planned.status).toBe(200);
    expect(planned.body.spec.controlPlane.rollout).toEqual({ strategy: 'InPlace', maxSurge: 1 });
    expect(planned.body.plan).toMatchObject([{ action: 'replace-nodes', pool: 'control-plane', count: 3 }]);
    expect(await logLength()).toBe(before);
  });

  it('is refused when the cluster is another one, or has changed since it was read', async () => {
    const stale = await patch({ metadata: { resourceVersion: '1' } });
    expect([stale.status, stale.body.reason]).toEqual([409, 'cluster.resource-version']);
    const foreign = await patch({ metadata: { uid: storyUid } });
    expect([foreign.status, foreign.body.reason]).toEqual([409, 'cluster.uid-mismatch']);
    const misplaced = await patch({ metadata: { name: 'other' } });
    expect([misplaced.status, misplaced.body.reason]).toEqual([400, 'cluster.manifest-address']);
  });

  it.each([
    [{ version: 'v1.33.13' }, 422, 'cluster.version-lower', 'spec.version'],
    [{ version: 'v1.38.0' }, 422, 'cluster.version-path', 'spec.version'],
    [{ version: 'latest' }, 400, 'upgrade.version-invalid', 'spec.version'],
    [{ version: 'v1.36.3', pools: [] }, 409, 'cluster.version-with-changes', 'spec.version'],
    [{ network: { podCidr: '10.0.0.0/16' } }, 422, 'cluster.field-immutable', 'spec.network.podCidr'],
    [{ controlPlane: { replicas: 4 } }, 400, 'cluster.control-plane-even', 'spec.controlPlane.replicas'],
    [{ controlPlane: { replicas: 0 } }, 400, 'cluster.control-plane-count', 'spec.controlPlane.replicas'],
    [{ controlPlane: { replicas: 7 } }, 400, 'cluster.control-plane-too-many', 'spec.controlPlane.replicas'],
    [{ controlPlane: { replicas: 9 } }, 400, 'cluster.control-plane-too-many', 'spec.controlPlane.replicas'],
    [
      { controlPlane: { replicas: 1, rollout: { maxSurge: 0 } } },
      422,
      'cluster.control-plane-surge',
      'spec.controlPlane.rollout.maxSurge',
    ],
    [
      { pools: [{ name: 'gpu', replicas: 1, ...machines, connection: 'moon' }] },
      422,
      'connection.unknown',
      'spec.pools[0].connection',
    ],
    [{ pools: [{ name: 'control-plane', replicas: 1, ...machines }] }, 400, 'pool.name-reserved', 'spec.pools[0].name'],
    [
      {
        pools: [
          { name: 'web', replicas: 1, ...machines },
          { name: 'web', replicas: 2, ...machines },
        ],
      },
      400,
      'pool.name-taken',
      'spec.pools[1].name',
    ],
  ])('is refused where it cannot be made: %j [ORBITER 2]', async (spec, status, reason, field) => {
    const before = await logLength();
    const answer = await patch({ spec });
    expect([answer.status, answer.body.reason, answer.body.field]).toEqual([status, reason, field]);
    expect(await logLength()).toBe(before);
  });

  it('is recorded with what it requests, once for all repetitions of one key [Cluster API 2]', async () => {
    const manifest = await read();
    const spec = { ...manifest.spec, pools: [...manifest.spec.pools, { name: 'gpu', replicas: 1, ...machines }] };
    const body = { ...manifest, spec };
    const headers = { 'idempotency-key': 'gpu-1' };
    const first = await put(body, '', headers);
    const second = await put(body, '', headers);
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([202, 202, 'true']);
    expect(first.headers.get('location')).toBe(`/ns/default/clusters/demo/operations/${first.body.operations?.[0]}`);
    const [nodes, changed, ...more] = (await gateway.log('evt.*.default.demo.request.>')).slice(1);
    expect([nodes?.type, changed?.type, more]).toEqual(['NodesRequested', 'ClusterSpecChanged', []]);
    expect(nodes?.data).toMatchObject({ workers: [{ pool: 'gpu', count: 1 }] });
    expect(changed?.data).toMatchObject({ revision: 1, spec: first.body.spec });
    const now = await read();
    expect(now.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    expect(now.status?.pools[1]).toMatchObject({ name: 'gpu', phase: 'Pending', replicas: 0, readyReplicas: 0 });
    const stale = await put(body);
    expect([stale.status, stale.body.reason]).toEqual([409, 'cluster.resource-version']);
  });

  it('goes back when the request is given up: the pool stays declared, without nodes', async () => {
    await gateway.ask('POST', '/ns/default/clusters/demo/nodes/abandon');
    expect((await read()).spec.pools.map(({ name, replicas }) => [name, replicas])).toEqual([
      ['worker-1', 2],
      ['gpu', 0],
    ]);
  });
});

describe('another version in a manifest', () => {
  it('is planned by a dry run, requested as an upgrade, and no longer declared when that is rejected [ORBITER 14]', async () => {
    const { version } = (await read()).spec;
    const dry = await patch({ spec: { version: '1.36.3' } }, '?dryRun=All');
    expect(dry.body.plan).toMatchObject([
      { action: 'upgrade', pool: null, reason: expect.stringContaining('v1.35.4 → v1.36.3') },
    ]);
    const { status, body } = await patch({ spec: { version: '1.36.3' } });
    expect([status, body.spec.version, body.plan]).toEqual([202, 'v1.36.3', dry.body.plan]);
    const [requested] = await gateway.log('evt.*.default.demo.request.UpgradeRequested');
    expect(requested?.data).toMatchObject({ uid, mode: 'go', target: { kubernetes: 'v1.36.3' }, controlPlane: true });
    expect(body.operations).toEqual([requested?.meta.id]);
    const open = await patch({ spec: { version } });
    expect([open.status, open.body.reason]).toEqual([409, 'upgrade.open']);
    const { upgradeId } = requested!.data as { readonly upgradeId: UpgradeId };
    const findings = [
      { rule: 'B2', severity: 'refuse' as const, sentence: 'a node is not Ready', facts: {}, help: '' },
    ];
    await gateway.state({ type: 'UpgradeRejected', data: { uid: uid as ClusterUid, upgradeId, findings } });
    expect((await read()).spec.version).toBe(version);
  });
});

describe('the size of a pool', () => {
  const scale = '/ns/default/clusters/demo/pools/worker-1/scale';

  it('can be read and changed, and changes the manifest', async () => {
    const before = await gateway.ask<ScaleView>('GET', scale);
    expect(before.body).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { readyReplicas: 2 } });
    const { resourceVersion } = before.body.metadata;
    const body = { spec: { replicas: 1 }, metadata: { resourceVersion } };
    const planned = await gateway.ask<ScaleView>('PUT', `${scale}?dryRun=All`, { body });
    const nodes = [{ name: 'demo-w-2', reason: 'the newest' }];
    const step = { action: 'remove-nodes', pool: 'worker-1', count: 1, nodes, reason: 'remove 1 machine (2 → 1)' };
    expect([planned.status, planned.body.plan]).toEqual([200, [step]]);
    const done = await gateway.ask<ScaleView>('PUT', scale, { body });
    expect([done.status, done.body.plan, done.body.spec.replicas]).toEqual([202, [step], 1]);
    expect((await gateway.log('evt.*.default.demo.request.NodeRemovalRequested')).map(({ data }) => data)).toEqual([
      { uid, node: 'demo-w-2', reason: 'pool worker-1: remove 1 machine (2 → 1); the newest' },
    ]);
    expect((await read()).spec.pools[0]?.replicas).toBe(1);
    const again = await gateway.ask<ErrorView>('PUT', scale, { body });
    expect([again.status, again.body.reason]).toEqual([409, 'cluster.resource-version']);
  });

  it('is that of a pool that is declared', async () => {
    const none = await gateway.ask<ErrorView>('PUT', scale.replace('worker-1', 'none'), {
      body: { spec: { replicas: 1 } },
    });
    expect([none.status, none.body.reason]).toEqual([404, 'pool.unknown']);
    const wrong = await gateway.ask<ErrorView>('PUT', scale, { body: { spec: { replicas: -1 } } });
    expect([wrong.status, wrong.body.field]).toEqual([400, 'spec.replicas']);
  });
});

describe('nodes that are added to a pool', () => {
  const scale = '/ns/default/clusters/demo/pools/worker-1/scale';
  const sizeNow = async (): Promise<number> => (await read()).spec.pools[0]!.replicas;

  it('are counted from what is declared, and added once for one idempotency key', async () => {
    const before = await sizeNow();
    const headers = { 'idempotency-key': 'two-more' };
    for (const _time of ['first', 'again']) {
      const answer = await gateway.ask<ScaleView>('PUT', scale, { body: { spec: { add: 2 } }, headers });
      expect([answer.status, answer.body.spec.replicas]).toEqual([202, before + 2]);
    }
    expect(await sizeNow()).toBe(before + 2);
    await gateway.ask('PUT', scale, { body: { spec: { replicas: before } } });
  });

  it.each([[{}], [{ replicas: 2, add: 1 }]])('are no second answer to what size it gets: %j', async (spec) => {
    const answer = await gateway.ask<ErrorView>('PUT', scale, { body: { spec } });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      expect.stringContaining('replicas or add, and not both'),
    ]);
  });
});

describe('a pool that is autoscaled', () => {
  const autoscaled = (autoscaling: object, more: object = {}) => [
    { name: 'worker-1', ...machines, autoscaling, ...more },
  ];

  it('keeps its size within its bounds, is scaled within them, and by no manifest [Cluster API 19, azimuth 30]', async () => {
    const size = (body: ClusterManifestView) => body.spec.pools[0]?.replicas;
    const current = (await read()).spec.pools[0]?.replicas ?? 0;
    const kept = await patch({ spec: { pools: autoscaled({ min: 1, max: 4 }) } });
    expect([kept.status, size(kept.body)]).toEqual([200, current]);
    const raised = await patch({ spec: { pools: autoscaled({ min: current + 1, max: 4 }) } }, '?dryRun=All');
    expect([raised.body.plan?.[0]?.action, size(raised.body)]).toEqual(['add-nodes', current + 1]);
    const fixed = await patch({ spec: { pools: autoscaled({ min: 1, max: 4 }, { replicas: 4 }) } });
    expect([fixed.status, fixed.body.reason]).toEqual([422, 'pool.replicas-autoscaled']);
    const scale = '/ns/default/clusters/demo/pools/worker-1/scale';
    const far = await gateway.ask<ErrorView>('PUT', scale, { body: { spec: { replicas: 5 } } });
    expect([far.status, far.body.reason]).toEqual([422, 'pool.scale-out-of-bounds']);
    const near = await gateway.ask<ScaleView>('PUT', `${scale}?dryRun=All`, { body: { spec: { replicas: 4 } } });
    expect([near.status, near.body.spec.replicas]).toEqual([200, 4]);
    await put(await read());
    expect(size(await read())).toBe(current);
  });
});

describe('pools that a manifest cannot declare', () => {
  const declare = async (change: object) => {
    const { spec } = await read();
    return patch({ spec: { pools: [{ ...spec.pools[0], ...change }] } });
  };

  it.each([
    [400, 'pool.key-reserved', 'spec.pools[0].labels', { labels: { 'kubernetes.io/os': 'x' } }],
    [
      400,
      'pool.taint-twice',
      'spec.pools[0].taints[1]',
      {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoSchedule' },
        ],
      },
    ],
  ])('are refused with %i %s at %s', async (code, reason, field, change) => {
    const { status, body } = await declare(change);
    expect([status, body.reason, body.field]).toEqual([code, reason, field]);
  });

  it.each([
    [0, 0],
    ['0%', 0],
    [0, '0%'],
    ['0%', '0%'],
  ])(
    'are refused where nothing could be replaced: maxSurge %j, maxUnavailable %j [Cluster API 25]',
    async (surge, unavailable) => {
      const { metadata } = await read();
      const { status, body } = await declare({ rollout: { maxSurge: surge, maxUnavailable: unavailable } });
      expect([status, body.reason, body.field]).toEqual([422, 'pool.rollout-blocked', 'spec.pools[0].rollout']);
      expect((await read()).metadata.resourceVersion).toBe(metadata.resourceVersion);
    },
  );

  it('are refused when the request creates a cluster that exists', async () => {
    const { apiVersion, kind, metadata, spec } = await read();
    const { status, body } = await put({ apiVersion, kind, metadata: { ...metadata, resourceVersion: '' }, spec });
    expect([status, body.reason]).toEqual([409, 'cluster.name-taken']);
  });
});

describe('a manifest without a cluster', () => {
  const other = '/ns/default/clusters/other/manifest';
  const manifest = {
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'other' },
    spec: {
      serviceType: 'multi',
      controlPlane: { replicas: 1, connection: 'lab', machineType: 'lab.medium' },
      pools: [
        { name: 'idle', replicas: 0, ...machines },
        { name: 'web', replicas: 1, ...machines },
      ],
    },
  };

  it('is none to be read or patched', async () => {
    for (const method of ['GET', 'PATCH']) {
      const { status, body } = await gateway.ask<ErrorView>(method, other, method === 'GET' ? {} : { body: {} });
      expect([status, body.reason]).toEqual([404, 'cluster.unknown']);
    }
    const put = { ...manifest, metadata: { name: 'other', resourceVersion: '7' } };
    expect((await gateway.ask('PUT', other, { body: put })).status).toBe(404);
  });

  it('is refused by the rules of a new cluster, in its own fields', async () => {
    const [idle] = manifest.spec.pools;
    const none = await gateway.ask<ErrorView>('PUT', other, {
      body: { ...manifest, spec: { ...manifest.spec, pools: [idle] } },
    });
    expect([none.status, none.body.reason, none.body.field]).toEqual([400, 'cluster.worker-missing', 'spec.pools']);
    expect(none.body.help).toContain('spec.controlPlane.schedulable');
    const wrong = await gateway.ask<ErrorView>('PUT', other, {
      body: {
        ...manifest,
        spec: {
          ...manifest.spec,
          network: { podCidr: 'x' },
          controlPlane: { ...manifest.spec.controlPlane, replicas: 2 },
          pools: [idle, { ...manifest.spec.pools[1], connection: 'moon' }],
        },
      },
    });
    expect(wrong.body.errors.map(({ reason, field }) => [reason, field])).toEqual([
      ['cluster.pod-cidr', 'spec.network.podCidr'],
      ['cluster.control-plane-even', 'spec.controlPlane.replicas'],
    ]);
    const moon = await gateway.ask<ErrorView>('PUT', other, {
      body: {
        ...manifest,
        spec: { ...manifest.spec, pools: [idle, { ...manifest.spec.pools[1], connection: 'moon' }] },
      },
    });
    expect([moon.status, moon.body.field]).toEqual([422, 'spec.pools[1].connection']);
  });

  it('is planned for viewers, creates the cluster for operators, and keeps pools of 0 declared', async () => {
    const planned = await gateway.ask<ClusterManifestView>('PUT', `${other}?dryRun=All`, { body: manifest });
    expect([planned.status, planned.body.plan?.map(({ action, pool }) => [action, pool])]).toEqual([
      200,
      [
        ['create-cluster', null],
        ['create-pool', 'idle'],
        ['create-pool', 'web'],
      ],
    ]);
    const viewer = { name: 'viewer', roles: [{ namespace: 'default', role: 'viewer' }] };
    const { token } = (await gateway.ask<CreatedTokenView>('POST', '/tokens', { body: viewer })).body;
    const before = await logLength();
    const statusOf = async (url: string) => (await gateway.ask('PUT', url, { body: manifest, token })).status;
    expect(await statusOf(`${other}?dryRun=All`)).toBe(200);
    for (const query of ['', '?dryRun=None', '?dryRun=all', '?dryRun=All&dryRun=None', '?dryRun[]=All'])
      expect([query, await statusOf(`${other}${query}`)]).toEqual([query, 403]);
    expect(await statusOf(`${other.replace('default', 'team')}?dryRun=All`)).toBe(403);
    expect(await logLength()).toBe(before);
    const made = await gateway.ask<ClusterManifestView>('PUT', other, { body: manifest });
    expect([made.status, made.headers.get('location')]).toEqual([202, '/ns/default/clusters/other']);
    expect((await gateway.log('evt.*.default.other.>')).map(({ type }) => type)).toEqual([
      'ClusterRequested',
      'ClusterSpecChanged',
    ]);
    const again = await gateway.ask<ClusterManifestView>('PUT', other, { body: manifest });
    expect([again.status, again.body.metadata.uid]).toEqual([200, made.body.metadata.uid]);
    const shown = await gateway.ask<ClusterManifestView>('GET', other);
    expect(shown.body.spec).toEqual(made.body.spec);
    expect(shown.body.status?.phase).toBe('Pending');
  });

  it('declares control plane, pools, networks, version, taints and what is excluded from updates, and again records nothing [ORBITER 1]', async () => {
    const path = '/ns/default/clusters/prod/manifest';
    const health = { unhealthyAfter: '5m', maxUnhealthy: '40%' };
    const rollout = { maxSurge: 1, maxUnavailable: 0, strategy: 'InPlace' };
    const taints = [{ key: 'dedicated', value: 'web', effect: 'NoSchedule' }];
    const document = {
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'prod', namespace: 'default', labels: { team: 'a' } },
      spec: {
        version: 'v1.34.4',
        network: { podCidr: '10.245.0.0/16', serviceCidr: '10.97.0.0/16', dnsDomain: 'prod.local', cni: 'flannel' },
        controlPlane: { replicas: 3, ...machines, zones: ['lab-1a'], etcd: 'local' },
        pools: [
          {
            name: 'web',
            replicas: 4,
            ...machines,
            labels: { tier: 'web' },
            taints,
            updatesDisabled: true,
            rollout,
            health,
          },
          { name: 'batch', autoscaling: { min: 0, max: 20 }, ...machines },
        ],
        paused: false,
      },
    };
    const made = await gateway.ask<ClusterManifestView>('PUT', path, { body: document });
    expect(made.status).toBe(202);
    const { paused: _not, ...spec } = document.spec;
    expect(made.body.spec).toMatchObject({
      ...spec,
      pools: [
        { ...spec.pools[0], taints },
        { name: 'batch', replicas: 0 },
      ],
    });
    const before = await logLength();
    for (const body of [document, (await gateway.ask<ClusterManifestView>('GET', path)).body]) {
      const again = await gateway.ask<ClusterManifestView>('PUT', path, { body });
      expect([again.status, again.body.plan, await logLength()]).toEqual([200, [], before]);
    }
  });

  it('has a published JSON Schema', async () => {
    const { status, body } = await gateway.ask('GET', '/schemas/cluster');
    expect([status, Object.keys(body)]).toEqual([200, expect.arrayContaining(['$schema', '$defs'])]);
  });
});

describe('a change that requests several operations at once', () => {
  it('has them in the list in the order in which they were requested, which is not that of their ids', async () => {
    const { pools } = (await read()).spec;
    const fewer = pools.map(({ autoscaling: _bounds, ...pool }) =>
      pool.name === 'worker-1' ? { ...pool, replicas: 0 } : pool,
    );
    const { status, body } = await patch({ spec: { controlPlane: { replicas: 1 }, pools: fewer } });
    expect([status, body.message]).toEqual([202, undefined]);
    const minSeq = (await gateway.log('evt.*.default.demo.>')).at(-1)?.meta.seq ?? 0;
    const list = await gateway.ask<OperationList>('GET', `/ns/default/clusters/demo/operations?minSeq=${minSeq}`);
    const listed = list.body.items.filter(({ id }) => body.operations?.includes(id));
    expect(listed).toHaveLength(3);
    expect(listed.map(({ seq }) => seq)).toEqual(listed.map(({ seq }) => seq).toSorted((one, two) => one - two));
  });
});

describe('a field that a merge patch sets to null', () => {
  it('is no longer declared, even where a manifest without it would keep it', async () => {
    await patch({ metadata: { labels: { team: 'a', tier: 'b' } } });
    await patch({ metadata: { labels: { tier: null } } });
    expect((await read()).metadata.labels).toEqual({ team: 'a' });
    await patch({ metadata: { labels: null } });
    expect((await read()).metadata.labels).toBeUndefined();
    expect((await patch({ spec: { paused: true } })).status).toBe(200);
    expect((await patch({ spec: { paused: null } })).status).toBe(200);
    expect((await read()).spec.paused).toBeUndefined();
  });
});

describe('the generations of a manifest [by REST]', () => {
  const generations = () => gateway.ask<ManifestGenerationList>('GET', `${path}/generations`);
  const generation = (number: number | string) =>
    gateway.ask<ManifestOfGeneration & Omit<ErrorView, 'kind'>>('GET', `${path}/generations/${number}`);

  it('are listed latest first with actor and change, and one that is declared again is the latest', async () => {
    const before = (await generations()).body.items;
    const labels = { team: `t${before.length}` };
    const changed = await patch({ metadata: { labels } });
    expect([changed.status, changed.body.message]).toEqual([200, undefined]);
    const { items } = (await generations()).body;
    expect(items.length).toBe(before.length + 1);
    expect(items[0]).toMatchObject({
      ...{ generation: before.length + 1, current: true },
      event: { type: 'ClusterSpecChanged', actor: expect.stringContaining('user/') },
      changes: [{ field: 'metadata.labels.team', after: labels.team }],
    });
    expect(items.filter(({ current }) => current).length).toBe(1);
    const { body: former } = await generation(before.length);
    const again = await put({ ...former, metadata: { ...former.metadata, labels: former.metadata.labels ?? {} } });
    expect([again.status, again.body.plan]).toEqual([200, []]);
    const [latest] = (await generations()).body.items;
    expect(latest?.generation).toBe(before.length + 2);
    expect((await generation(before.length + 2)).body).toEqual(former);
  });

  it('are refused by number, and by name', async () => {
    const none = await generation(9_999);
    expect([none.status, none.body.reason]).toEqual([404, 'cluster.generation-unknown']);
    expect((await generation('first')).status).toBe(404);
    const never = await gateway.ask<ErrorView>('GET', '/ns/default/clusters/never/manifest/generations');
    expect([never.status, never.body.reason]).toEqual([404, 'cluster.unknown']);
  });
});
