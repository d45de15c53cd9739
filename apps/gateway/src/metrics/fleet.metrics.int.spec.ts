import { declaredOf, VirtualAddress, type ClusterView, type Fact } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { request, useGateway } from '../gateway.fixtures.js';
import { CREATE, nodeFact, planned, uid } from '../story.fixtures.js';

const gateway = useGateway();

const request0 = CREATE[0] as Fact<'ClusterRequested'>;
const INGRESS = VirtualAddress.parse({
  name: 'ingress',
  address: '192.0.2.5',
  holders: ['worker-1'],
  transports: [{ name: 'https', frontendPort: 443, backendPort: 30443, backends: ['worker-1'] }],
});

const sql = async (text: string, values: readonly unknown[] = []): Promise<void> => {
  const client = new pg.Client({ connectionString: gateway.environment.databases.gateway });
  await client.connect();
  await client.query(text, [...values]);
  await client.end();
};

const metrics = async (replica?: number): Promise<readonly string[]> => {
  const options = { token: null, ...(replica === undefined ? {} : { replica }) };
  const { status, headers, body } = await gateway.ask<string>('GET', '/metrics', options);
  expect([status, headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain;.* version=0\.0\.4/),
  ]);
  return body.split('\n');
};

describe('the metrics of the gateway', () => {
  it('count clusters by phase, those that nothing is in as 0, and name none of them [ORBITER 32, azimuth 34]', async () => {
    const made = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('secretive') });
    expect(made.status).toBe(202);
    const seq = made.headers.get('x-fairlead-seq');
    await gateway.ask('GET', `/ns/default/clusters/secretive?minSeq=${seq ?? ''}`);
    const lines = await metrics();
    expect(lines).toContain('fairlead_clusters{phase="Pending",service="gateway"} 1');
    expect(lines).toContain('fairlead_clusters{phase="Failed",service="gateway"} 0');
    expect(lines).toContain('fairlead_clusters_by_state{state="Provisioning",service="gateway"} 1');
    expect(lines).toContain('fairlead_clusters_by_version{version="v1.34.4",service="gateway"} 1');
    expect(lines.find((line) => line.startsWith('fairlead_clusters_not_ready_oldest_timestamp_seconds{'))).toMatch(
      / 1\.\d+e\+09$| \d{10}/u,
    );
    expect(lines).toContain('fairlead_clusters_by_state{state="Degraded",service="gateway"} 0');
    expect(lines).toContain('fairlead_clusters_by_azimuth_phase{phase="Reconciling",service="gateway"} 1');
    expect(lines).toContain('fairlead_clusters_stuck{during="creation",service="gateway"} 0');
    expect(lines.filter((line) => line.startsWith('fairlead_connections{'))).toHaveLength(3);
    expect(lines).toContain('fairlead_clusters_by_reason{reason="RemediationSuspended",service="gateway"} 0');
    expect(lines).toContain('fairlead_upgrades{phase="Running",service="gateway"} 0');
    expect(lines).toContain('fairlead_etcd_backups{result="failed",service="gateway"} 0');
    expect(lines).toContain('fairlead_etcd_snapshot_bytes{service="gateway"} 0');
    expect(lines).toContain('fairlead_partitions_owned{service="gateway"} 16');
    expect(lines.join('\n')).not.toMatch(/secretive|default/);
  });

  it('count clusters without a template, with one, and with one that is deprecated, and name none of them [azimuth 34]', async () => {
    const TYPE = { apiVersion: 'fairlead.dev/v1alpha1' };
    const machines = { connection: 'lab', machineType: 'lab.small' };
    for (const [name, deprecated] of [
      ['secret-new', false],
      ['secret-old', true],
    ] as const) {
      const cluster = { version: 'v1.34.4', controlPlane: { replicas: 1, ...machines }, pools: machines };
      const apply = (spec: object) =>
        gateway.ask('PUT', `/ns/default/cluster-templates/${name}`, {
          body: { ...TYPE, kind: 'ClusterTemplate', metadata: { name }, spec: { ...spec, cluster } },
        });
      await apply({});
      await gateway.ask('PUT', `/ns/default/clusters/${name}/manifest`, {
        body: { ...TYPE, kind: 'Cluster', metadata: { name }, spec: { template: name, pools: [{ name: 'web' }] } },
      });
      await apply({ deprecated });
    }
    await eventually(async () =>
      (await metrics()).includes('fairlead_clusters_by_template{template="deprecated",service="gateway"} 1'),
    );
    const lines = await metrics();
    expect(lines).toContain('fairlead_clusters_by_template{template="current",service="gateway"} 1');
    expect(lines).toContain('fairlead_clusters_by_template{template="none",service="gateway"} 1');
    expect(lines.join('\n')).not.toMatch(/secret-/);
  });

  it('count clusters by the name of their template, those without a cluster as 0, where names may be shown [azimuth 34]', async () => {
    await gateway.ask('PUT', '/ns/default/cluster-templates/unused', {
      body: {
        ...{ apiVersion: 'fairlead.dev/v1alpha1', kind: 'ClusterTemplate', metadata: { name: 'unused' } },
        spec: { cluster: { version: 'v1.34.4' } },
      },
    });
    const replica = await gateway.startReplica({ METRICS_NAMES: 'show' });
    const labels = (template: string, deprecated: boolean): string =>
      `namespace="default",template="${template}",deprecated="${deprecated}",service="gateway"`;
    const named = async (): Promise<readonly string[]> =>
      (await metrics(replica.index)).filter((line) => line.startsWith('fairlead_clusters_by_template_name{'));
    await eventually(async () => (await named()).length === 3);
    expect(await named()).toEqual([
      `fairlead_clusters_by_template_name{${labels('secret-new', false)}} 1`,
      `fairlead_clusters_by_template_name{${labels('secret-old', true)}} 1`,
      `fairlead_clusters_by_template_name{${labels('unused', false)}} 0`,
    ]);
    await replica.stop();
  });

  it('count nodes by phase and kubelet, and say when the first certificate ends', async () => {
    await gateway.state(planned(['demo-cp-1', 'demo-w-1']));
    const certificates = [{ name: 'apiserver', expiresAt: '2031-01-01T00:00:00Z' }];
    await gateway.state(nodeFact('CertificatesReported', 'demo-cp-1', { certificates }));
    await eventually(async () => (await metrics()).some((line) => line.startsWith('fairlead_nodes{')));
    expect(await metrics()).toContain('fairlead_nodes{phase="Planned",kubelet="",service="gateway"} 2');
    await eventually(async () =>
      (await metrics()).includes(
        `fairlead_certificate_first_end_timestamp_seconds{service="gateway"} ${Date.parse('2031-01-01T00:00:00Z') / 1000}`,
      ),
    );
  });

  it('exist whatever times the rows have, even those that no schema still accepts', async () => {
    const certificates = ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z', 'soon', '2032-01-01T00:00:00Z'];
    const doc = {
      namespace: 'default',
      cluster: 'demo',
      uid,
      node: 'demo-cp-2',
      certificates: certificates.map((expiresAt) => ({ name: 'a', expiresAt })),
    };
    await sql('delete from certificates');
    await sql('insert into certificates (key, seq, doc) values ($1, 1, $2)', ['default/demo/demo-cp-2', doc]);
    const lines = await metrics();
    const end = Date.parse('2032-01-01T00:00:00Z') / 1_000;
    expect(lines).toContain(`fairlead_certificate_first_end_timestamp_seconds{service="gateway"} ${end}`);
    expect(lines.filter((line) => /^fairlead_collector_failed\{.*\} 1$/.test(line))).toEqual([]);
  });

  it('are there without those that cannot be read, which are named', async () => {
    await sql('alter table certificates rename to elsewhere');
    try {
      const lines = await metrics();
      expect(lines.filter((line) => /^fairlead_collector_failed\{.*\} 1$/.test(line))).toEqual([
        'fairlead_collector_failed{collector="fairlead_certificate_first_end_timestamp_seconds",service="gateway"} 1',
      ]);
      expect(lines.some((line) => line.startsWith('fairlead_clusters{'))).toBe(true);
    } finally {
      await sql('alter table elsewhere rename to certificates');
    }
  });

  it('count virtual addresses and the nodes behind them, and name none of them [ORBITER 32]', async () => {
    await gateway.state(CREATE[0]!);
    const spec = { ...declaredOf(request0.data.spec), virtualAddresses: [INGRESS] };
    await gateway.state({ type: 'ClusterSpecChanged', data: { uid, revision: 1, spec } });
    await gateway.state(planned(['demo-cp-1', 'demo-w-1', 'demo-w-2']));
    const upstreams = { 'demo-w-2': false, 'demo-w-1': true };
    const transports = [{ name: 'https', reached: true, up: 1, of: 2, upstreams }];
    const addresses = [{ name: 'ingress', held: true, transports }];
    await gateway.state(nodeFact('VirtualAddressesProbed', 'demo-w-1', { addresses }));
    await eventually(async () =>
      (await metrics()).includes('fairlead_virtual_addresses{state="up",service="gateway"} 1'),
    );
    const lines = await metrics();
    expect(lines).toContain('fairlead_upstreams{state="up",service="gateway"} 1');
    expect(lines).toContain('fairlead_upstreams{state="down",service="gateway"} 1');
    expect(lines.join('\n')).not.toMatch(/ingress|demo-w/);
    const { body } = await gateway.ask<ClusterView>('GET', '/ns/default/clusters/demo');
    expect(body.virtualAddresses).toMatchObject([
      { name: 'ingress', holder: 'demo-w-1', transports: [{ down: ['demo-w-2'] }] },
    ]);
  });

  it("count how many control planes hold the API's own address, and the cluster has a condition for it", async () => {
    await gateway.state(nodeFact('ApiAddressProbed', 'demo-cp-1', { held: false }));
    const gauge = (holders: string, count: number): string =>
      `fairlead_api_addresses{holders="${holders}",service="gateway"} ${count}`;
    await eventually(async () => (await metrics()).includes(gauge('none', 1)));
    await gateway.state(nodeFact('ApiAddressProbed', 'demo-cp-1', { held: true }));
    await eventually(async () => (await metrics()).includes(gauge('one', 1)));
    const upstreams = { 'demo-cp-1': true, 'demo-cp-9': true };
    await gateway.state(nodeFact('ApiAddressProbed', 'demo-cp-1', { held: true, upstreams }));
    await eventually(async () => (await metrics()).includes('fairlead_api_upstreams{state="up",service="gateway"} 1'));
    expect((await metrics()).join('\n')).not.toMatch(/demo-cp/);
    expect(await metrics()).toEqual(expect.arrayContaining([gauge('none', 0), gauge('several', 0)]));
    const { body } = await gateway.ask<ClusterView>('GET', '/ns/default/clusters/demo');
    expect(body.conditions.map(({ type }) => type)).toContain('ApiAddressHeld');
  });

  it('have a gauge for each virtual address, each of its ports and each node behind it, those of the API included, where names may be shown [ORBITER 32]', async () => {
    const replica = await gateway.startReplica({ METRICS_NAMES: 'show' });
    const labels = 'namespace="default",cluster="demo",address="ingress"';
    const upstreams = { 'demo-cp-1': false };
    await gateway.state(nodeFact('ApiAddressProbed', 'demo-cp-1', { held: true, upstreams }));
    await eventually(async () =>
      (await metrics()).includes('fairlead_api_upstreams{state="down",service="gateway"} 1'),
    );
    const ofApi = 'namespace="default",cluster="demo"';
    const gauges = [
      `fairlead_api_address_up{${ofApi},service="gateway"} 0`,
      `fairlead_api_upstream_up{${ofApi},upstream="demo-cp-1",service="gateway"} 0`,
      `fairlead_virtual_address_up{${labels},service="gateway"} 1`,
      `fairlead_virtual_address_transport_up{${labels},transport="https",service="gateway"} 1`,
      `fairlead_upstream_up{${labels},transport="https",upstream="demo-w-1",service="gateway"} 1`,
      `fairlead_upstream_up{${labels},transport="https",upstream="demo-w-2",service="gateway"} 0`,
    ];
    const shown = await metrics(replica.index);
    expect(shown).toEqual(expect.arrayContaining(gauges));
    await replica.stop();
  });
});
