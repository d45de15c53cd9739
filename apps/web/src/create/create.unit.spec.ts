import { ClusterManifest, manifestJsonSchema } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { judge, manifestForm, type Present } from './judge.js';
import { partsOf, readManifest, spanIn, valueAt, withValue } from './manifest.text.js';
import { enteredLines, enteredPairs, enteredText, formOf, newEntry, type Field, type JsonSchema } from './schema.js';

const TEXT = `# of the shop
apiVersion: fairlead.dev/v1alpha1
kind: Cluster
metadata:
  name: shop # a name
spec:
  controlPlane: { replicas: 1, connection: lab, machineType: lab.medium }
  pools:
    - { name: web, replicas: 2, connection: lab, machineType: lab.medium }
    - name: db
      replicas: 1
      connection: lab
      machineType: lab.medium
`;
const NEW = { namespace: 'default', cluster: 'shop', now: '2026-11-29T12:00:00Z', present: undefined };
const manifestIn = (text: string) => readManifest(text).manifest;

describe('a manifest as text', () => {
  it('keeps its comments and everything else when one value changes', () => {
    const changed = withValue(TEXT, ['spec', 'pools', 0, 'replicas'], 5);
    expect(changed).toBe(TEXT.replace('replicas: 2', 'replicas: 5'));
    expect(withValue(changed, ['spec', 'pools', 0, 'replicas'], 2)).toBe(TEXT);
  });

  it('gets what it lacks, and loses what is left empty', () => {
    const more = withValue(TEXT, ['spec', 'network', 'cni'], 'calico');
    expect(valueAt(manifestIn(more), ['spec', 'network'])).toEqual({ cni: 'calico' });
    expect(withValue(more, ['spec', 'network', 'cni'], undefined)).toBe(TEXT);
    expect(valueAt(manifestIn(withValue(TEXT, ['spec', 'pools', 1], undefined)), ['spec', 'pools', 1])).toBeUndefined();
    expect(withValue(TEXT, ['spec', 'storage', 'nfs'], undefined)).toBe(TEXT);
  });

  it('shows where a field stands, or the nearest thing above it', () => {
    const at = (field: string): string => {
      const { from, to } = spanIn(TEXT, field);
      return TEXT.slice(from, to);
    };
    expect(['metadata.name', 'spec.pools[1].replicas', 'spec.pools[db].replicas', 'spec.network.cni'].map(at)).toEqual([
      ...['name', 'replicas', 'replicas', 'spec'],
    ]);
    expect(TEXT.slice(0, spanIn(TEXT, 'spec.pools[1].replicas').from).split('\n')).toHaveLength(11);
    expect(at('')).toBe('# of the shop');
    expect(partsOf('spec.pools[0].name')).toEqual(['spec', 'pools', 0, 'name']);
  });

  it('that is no mapping is named as such', () => {
    expect(readManifest('- a').fault).toBe('A manifest is a YAML mapping.');
    expect(readManifest('a: [').fault).toBeDefined();
  });
});

describe('the form of a manifest', () => {
  const all = (fields: readonly Field[]): readonly Field[] =>
    fields.flatMap((field) => {
      const { shape } = field;
      const inner = shape.kind === 'list' ? shape.item : shape;
      return [field, ...(inner.kind === 'object' ? all(inner.fields) : [])];
    });

  it('has a field for everything that its schema has, but for the names of its format and what is read-only', () => {
    const form = manifestForm();
    expect(form.map(({ name }) => name)).toEqual(['metadata', 'spec']);
    const kinds = all(form).flatMap(({ name, shape }) => (shape.kind === 'other' ? [name] : []));
    expect([...new Set(kinds)]).toEqual(['values']); // The values of a chart: only in the YAML.
    expect(all(form).length).toBeGreaterThan(100);
    const spec = form[1]!.shape;
    const named = spec.kind === 'object' ? spec.fields.map(({ name }) => name) : [];
    const { $defs } = manifestJsonSchema() as JsonSchema;
    expect(named).toEqual(Object.keys($defs!['ManifestSpec']!.properties!));
  });

  it('has a field for who may connect to the API: networks, or the word for everyone', () => {
    const api = all(manifestForm()).find(({ name }) => name === 'api');
    expect(api?.shape).toEqual({ kind: 'lines', mayBeNumber: false, word: 'everyone' });
    expect(api?.help).toMatch(/^Who may connect to the Kubernetes API/);
    expect(enteredLines(' everyone\n', false, 'everyone')).toBe('everyone');
    expect(enteredLines('192.0.2.0/24\n\n2001:db8::/32', false, 'everyone')).toEqual(['192.0.2.0/24', '2001:db8::/32']);
  });

  it('says to whom the API of the cluster would be open', () => {
    const access = (firewall: string) => judge(manifestIn(`${TEXT}  firewall: ${firewall}\n`), NEW).access;
    expect(judge(manifestIn(TEXT), NEW).access).toBe('its nodes, its pods and Fairlead');
    expect(access('{ scope: api, api: [192.0.2.0/24] }')).toBe('its nodes, its pods, Fairlead and 192.0.2.0/24');
    expect(access('{ scope: api, api: everyone }')).toMatch(/^everyone/);
  });

  it('begins a new entry of a list with what it must have', () => {
    const spec = manifestForm()[1]!.shape;
    const pools = spec.kind === 'object' ? spec.fields.find(({ name }) => name === 'pools')!.shape : spec;
    expect(pools.kind === 'list' ? newEntry(pools.item) : undefined).toMatchObject({ name: '' });
  });

  it('ends where a schema contains itself', () => {
    const schema: JsonSchema = { $ref: '#/$defs/a', $defs: { a: { properties: { a: { $ref: '#/$defs/a' } } } } };
    expect(JSON.stringify(formOf(schema))).toContain('"other"');
  });

  it('reads lines, pairs and numbers as they are meant', () => {
    expect([enteredText('', true), enteredText('25%', true), enteredText('2', true), enteredText('2', false)]).toEqual([
      ...[undefined, '25%', 2, '2'],
    ]);
    expect([enteredLines('a\n\n b ', false), enteredLines('\n', false)]).toEqual([['a', 'b'], undefined]);
    expect([enteredPairs('tier=web\nx'), enteredPairs('')]).toEqual([{ tier: 'web', x: '' }, undefined]);
  });
});

describe('the browser judges', () => {
  it('a new cluster by the rules of the gateway, with its plan', () => {
    const { faults, plan } = judge(manifestIn(TEXT), NEW);
    expect(faults).toEqual([]);
    expect(plan?.map(({ action, pool, count }) => [action, pool, count])).toEqual([
      ['create-cluster', null, 1],
      ['create-pool', 'web', 2],
      ['create-pool', 'db', 1],
    ]);
  });

  it('what is wrong with it, by field', () => {
    const text = withValue(TEXT, ['spec', 'controlPlane', 'replicas'], 2);
    expect(judge(manifestIn(text), NEW).faults.map(({ code, field }) => [code, field])).toEqual([
      ['cluster.control-plane-even', 'spec.controlPlane.replicas'],
    ]);
    expect(judge({ spec: {} }, NEW).faults.length).toBeGreaterThan(0);
  });

  it('nothing that a template or an added release decides', () => {
    expect(judge(manifestIn(withValue(TEXT, ['spec', 'template'], 'small')), NEW).left).toMatch(/template small/);
    expect(judge(manifestIn(withValue(TEXT, ['spec', 'version'], 'v1.34.99')), NEW).left).toMatch(/built in/);
  });

  const node = (name: string, pool: string, role: 'worker' | 'control-plane' = 'worker') => ({
    ...{ name, pool, role, ready: true, leader: role === 'control-plane', zoneLabel: 'topology.kubernetes.io/zone=a' },
  });
  const presentOf = (nodes: readonly ReturnType<typeof node>[]): Present => {
    const { spec } = ClusterManifest.parse(manifestIn(TEXT));
    const manifest = { ...ClusterManifest.parse(manifestIn(TEXT)), spec, status: { state: 'Running' } };
    return { manifest, nodes } as unknown as Present;
  };
  const present = presentOf([
    node('cp-1', '', 'control-plane'),
    node('w-1', 'web'),
    node('w-2', 'web'),
    node('d-1', 'db'),
  ]);
  const change = (path: Parameters<typeof withValue>[1], value: unknown, basis: Present = present) =>
    judge(manifestIn(withValue(TEXT, path, value)), { ...NEW, present: basis });

  it('a change, with the nodes that it adds, or that leave by it', () => {
    expect(judge(manifestIn(TEXT), { ...NEW, present }).plan).toEqual([]);
    expect(change(['spec', 'pools', 0, 'replicas'], 4).plan).toMatchObject([
      { action: 'add-nodes', pool: 'web', count: 2 },
    ]);
    expect(change(['spec', 'pools', 0, 'replicas'], 1).plan).toMatchObject([
      { action: 'remove-nodes', pool: 'web', nodes: [{ name: 'w-2', reason: 'the newest' }] },
    ]);
    expect(change(['spec', 'network'], { podCidr: '10.99.0.0/16' }).faults).toMatchObject([
      { field: 'spec.network.podCidr' },
    ]);
  });

  it('no change whose outcome depends on what views do not show', () => {
    expect(change(['spec', 'pools', 0, 'machineType'], 'lab.large').left).toBe('machines of web may be replaced');
    const awaited = presentOf([node('cp-1', '', 'control-plane'), node('w-1', 'web'), node('d-1', 'db')]);
    expect(change(['spec', 'pools', 1, 'replicas'], 2, awaited).left).toMatch(/^web has not the nodes/);
  });
});
