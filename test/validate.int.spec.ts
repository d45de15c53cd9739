import { describe, expect, it } from '@jest/globals';
import { fakeIo, run } from '../apps/cli/src/spec/io.fixtures.js';
import { useGateway } from '../apps/gateway/src/gateway.fixtures.js';

/** A manifest as JSON, in which a case changes something. */
type Manifest = Record<string, unknown> & { metadata: Record<string, unknown>; spec: Spec };
type Spec = Record<string, unknown> & { controlPlane: Record<string, unknown>; pools: Record<string, unknown>[] };

const machines = { connection: 'lab', machineType: 'lab.small' };
const good = (): Manifest => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    serviceType: 'single',
    network: { cni: 'flannel' },
    controlPlane: { replicas: 3, ...machines },
    pools: [{ name: 'web', replicas: 2, ...machines }],
  },
});
const changed = (change: (manifest: Manifest) => void): Manifest => {
  const manifest = good();
  change(manifest);
  return manifest;
};
const spec = (more: object) => changed((manifest) => void Object.assign(manifest.spec, more));
const pool = (more: object) => changed(({ spec: { pools } }) => void Object.assign(pools[0]!, more));
const controlPlane = (more: object) => changed((manifest) => void Object.assign(manifest.spec.controlPlane, more));
const network = (more: object) => spec({ network: { cni: 'flannel', ...more } });
const hook = { name: 'backup', url: 'https://hooks.example.org/x', points: ['BeforeClusterDelete'] };
const oidc = (more: object) =>
  spec({ authentication: { oidc: { issuerUrl: 'https://id.example.org', clientId: 'fairlead', ...more } } });

const GOOD: readonly (readonly [string, Manifest])[] = [
  ['the least that a manifest needs', good()],
  [
    'a single node',
    changed(
      ({ spec: own }) =>
        void Object.assign(own, { controlPlane: { replicas: 1, schedulable: true, ...machines }, pools: [] }),
    ),
  ],
  [
    'labels, taints, health, drains and snapshots',
    spec({
      drain: { timeout: '15m' },
      etcdBackups: { schedule: '0 3 * * *', keep: 7 },
      pools: [
        {
          name: 'web',
          replicas: 2,
          ...machines,
          labels: { tier: 'web' },
          taints: [{ key: 'dedicated', value: 'web', effect: 'NoSchedule' }],
          health: { remediation: 'replace', unhealthyAfter: '5m', maxUnhealthy: 1 },
        },
      ],
    }),
  ],
];

/** One fault each: its name, and the manifest that both must refuse with the same codes. */
const BAD: readonly (readonly [string, Manifest])[] = [
  ['an unknown field', spec({ netwrok: {} })],
  [
    'a misspelt field of a pool',
    changed(({ spec: { pools } }) => {
      const { machineType, ...others } = pools[0]!;
      pools[0] = { ...others, machinetype: machineType };
    }),
  ],
  ['a missing field', changed(({ spec: { pools } }) => void delete pools[0]!['connection'])],
  ['a wrong type', pool({ replicas: 'two' })],
  ['null', pool({ labels: null })],
  ['a wrong choice', network({ cni: 'weave' })],
  ['a list for an object', spec({ drain: [] })],
  ['another version of the document', changed((manifest) => void (manifest['apiVersion'] = 'fairlead.dev/v9'))],
  ['a name that is none', changed(({ metadata }) => void (metadata['name'] = 'Shop!'))],
  ['an unknown version', spec({ version: 'v1.2.3' })],
  ['no version', spec({ version: 'latest' })],
  ['an even number of control planes', controlPlane({ replicas: 2 })],
  ['too many control planes', controlPlane({ replicas: 9 })],
  ['no control plane', controlPlane({ replicas: 0 })],
  ['external etcd with an even number', controlPlane({ replicas: 1, etcd: 'external' })],
  ['no pools on control planes that are not schedulable', spec({ pools: [] })],
  ['a network for several connections', network({ cni: 'canal' })],
  ['a network for one connection', spec({ serviceType: 'multi', network: { cni: 'flannel' } })],
  ['a range that is none', network({ podCidr: '10.244.0.0' })],
  ['a service range that is none', network({ serviceCidr: 'x' })],
  ['a service range that is too large', network({ serviceCidr: '10.0.0.0/4' })],
  ['a range with host bits', network({ podCidr: '10.244.0.1/16' })],
  ['a special range', network({ podCidr: '127.0.0.0/8' })],
  ['ranges that overlap', network({ podCidr: '10.96.0.0/16' })],
  ['a pod range that is too small', network({ podCidr: '10.244.0.0/24' })],
  ['a domain that is none', network({ dnsDomain: 'cluster_local' })],
  ['a pool twice', changed(({ spec: { pools } }) => void pools.push({ ...pools[0]! }))],
  ['the name of the control planes for a pool', pool({ name: 'control-plane' })],
  ['a rollout that can do nothing', pool({ rollout: { maxSurge: 0, maxUnavailable: 0 } })],
  ['a label that is reserved', pool({ labels: { 'kubernetes.io/hostname': 'x' } })],
  ['a taint twice', pool({ taints: [1, 2].map(() => ({ key: 'a', value: 'b', effect: 'NoSchedule' })) })],
  [
    'two limits of a health check',
    pool({ health: { remediation: 'replace', maxUnhealthy: 1, unhealthyRange: '[1-2]' } }),
  ],
  ['a range of a health check that is none', pool({ health: { remediation: 'replace', unhealthyRange: '[5-2]' } })],
  [
    'a duration of a health check that is too long',
    pool({ health: { remediation: 'replace', unhealthyAfter: '9999h' } }),
  ],
  [
    'autoscaling with bounds the wrong way round',
    changed(({ spec: { pools } }) => {
      delete pools[0]!['replicas'];
      pools[0]!['autoscaling'] = { min: 5, max: 1 };
    }),
  ],
  ['a size of a pool that is autoscaled', pool({ autoscaling: { min: 1, max: 5 } })],
  ['a surge of control planes on a fixed pace', controlPlane({ rollout: { strategy: 'RollingUpdate', maxSurge: 7 } })],
  ['a schedule that is none', spec({ etcdBackups: { schedule: '99 99 * * *', keep: 7 } })],
  ['a schedule that is too often', spec({ etcdBackups: { schedule: '* * * * *', keep: 7 } })],
  ['a hook twice', spec({ hooks: [hook, hook] })],
  ['a hook with a URL that is none', spec({ hooks: [{ ...hook, url: 'ftp://example.org' }] })],
  ['a hook that waits too long', spec({ hooks: [{ ...hook, timeout: '200h' }] })],
  [
    'a certificate of an issuer that is none',
    oidc({ ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' }),
  ],
  ['an issuer without https', oidc({ issuerUrl: 'http://id.example.org' })],
  [
    'a rule of a drain for a pool that is not there',
    spec({ drain: { rules: [{ name: 'x', pools: ['nosuch'], action: 'skip' }] } }),
  ],
  [
    'a port of the firewall that is none',
    spec({ firewall: { allow: [{ name: 'x', from: ['10.0.0.0/8'], ports: [99_999] }] } }),
  ],
  ['a lease that has ended', spec({ lease: { endsAt: '2001-01-01T00:00:00Z' } })],
];

const gateway = useGateway();

interface Fault {
  readonly code: string;
  readonly field: string;
}
const sorted = (faults: readonly Fault[]): readonly string[] =>
  faults.map(({ code, field }) => `${code} ${field}`).sort();

const byValidate = async (manifest: Manifest): Promise<readonly string[]> => {
  const stdin = JSON.stringify(manifest);
  const { stdout } = await run(['validate', '-f', '-', '-o', 'json'], fakeIo({ stdin, nowMs: Date.now() }));
  const { items } = JSON.parse(stdout) as { items: { faults: { code: string; field?: string }[] }[] };
  return sorted(items.flatMap(({ faults }) => faults.map(({ code, field = '' }) => ({ code, field }))));
};

interface Refused {
  readonly reason?: string;
  readonly errors?: readonly { readonly reason: string; readonly field?: string }[];
}

const byGateway = async (manifest: Manifest): Promise<readonly string[]> => {
  const path = `/ns/default/clusters/${encodeURIComponent(String(manifest.metadata['name']))}/manifest?dryRun=All`;
  const { status, body } = await gateway.ask<Refused>('PUT', path, { body: manifest });
  if (status < 300) return [];
  return sorted((body.errors ?? []).map(({ reason, field = '' }) => ({ code: reason, field })));
};

describe('fairlead validate and the gateway', () => {
  it.each(GOOD)('both accept: %s', async (_what, manifest) => {
    expect([await byValidate(manifest), await byGateway(manifest)]).toEqual([[], []]);
  });

  it.each(BAD)('refuse with the same codes at the same fields: %s', async (_what, manifest) => {
    const refused = await byGateway(manifest);
    expect(refused).not.toEqual([]);
    expect(await byValidate(manifest)).toEqual(refused);
  });

  it('cover most rules', async () => {
    const codes = new Set<string>();
    for (const [, manifest] of BAD)
      for (const fault of await byValidate(manifest)) codes.add(fault.split(' ')[0] ?? '');
    expect(codes.size).toBeGreaterThan(25);
  });
});
