import type { ClusterView, ErrorView } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fileURLToPath } from 'node:url';
import { request, useGateway } from '../gateway.fixtures.js';

const gateway = useGateway(
  async () => {
    await gateway.ask('POST', '/ns/default/clusters', { body: request('demo') });
  },
  { variables: { AGENT_BUNDLE: fileURLToPath(import.meta.url) } },
);

const RUNS_PER_ROUTE = 25;

/** Bodies that would be accepted, or nearly so: what is arbitrary replaces a part of them. */
const BODIES: Readonly<Record<string, unknown>> = {
  createNamespace: { name: 'some', description: 'text' },
  createCluster: request('some', { label: 'text', description: 'text', config: { kubernetes: { etcd: 'local' } } }),
  addNodes: { worker: [{ connection: 'lab', count: 1, spec: 'lab.small', role: 'text' }] },
  putConnection: { provider: 'lab', region: 'text', zone: 'text', settings: { endpoint: 'http://127.0.0.1:1' } },
  createToken: { name: 'text', roles: [{ namespace: 'default', role: 'viewer' }] },
  requestUpgrade: { version: 'v1.35.4', software: { containerd: 'text' }, pools: ['worker-1'], approved: false },
  setNodeUpdates: { disabled: true, reason: 'text' },
  setPoolUpdates: { disabled: true, reason: 'text' },
  overrideUpgradeRule: { rule: 'B4', reason: 'text' },
  skipUpgradeNode: { node: 'text', reason: 'text' },
  approveUpgrade: { planHash: 'text' },
  restoreEtcd: { snapshot: 'text', confirm: 'demo' },
  createJoinToken: { ttlSeconds: 3_600 },
  createHostToken: { ttlSeconds: 3_600, labels: { site: 'text' } },
  joinHost: {
    ...{
      namespace: 'default',
      cluster: 'demo',
      token: `flj_0a1b2c3d4e5f_${'a'.repeat(43)}`,
      user: `U${'A'.repeat(55)}`,
    },
    facts: {
      ...{ hostname: 'text', machineId: '0'.repeat(32), address: '192.0.2.1', architecture: 'amd64' },
      ...{ cpus: 1, memoryMiB: 1_024 },
    },
  },
  releaseQuarantined: { service: 'text', consumer: 'text', namespace: 'default', cluster: 'demo', mode: 'skip' },
};

const PLACES: Readonly<Record<string, string>> = {
  namespace: 'default',
  cluster: 'demo',
  connection: 'other',
  node: 'demo-w-1',
  pool: 'worker-1',
  upgrade: 'u-8f3k2m9q',
  token: '0123456789abcdef',
  host: 'host-0a1b2c3d4e5f',
};

const POISON = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfffx',
  '\u001b[2J',
  '\u202e',
  '\ufffe',
  '__proto__',
  'constructor',
  '',
];
/** What JavaScript cannot stringify stands in a body as a mark. */
const MARKS: Readonly<Record<string, string>> = {
  'mark: deep': `${'['.repeat(50)}${']'.repeat(50)}`,
  'mark: deeper': `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  'mark: infinite': '1e999',
  'mark: zeros': `-0.${'0'.repeat(400)}1`,
};

const text = fc.oneof(fc.constantFrom(...POISON), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
const number = fc.oneof(fc.double(), fc.constantFrom(2 ** 53, -(2 ** 63), 1e308, -0, 1e21), fc.integer());
const { anyJson } = fc.letrec<{ anyJson: unknown }>((tie) => ({
  anyJson: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    fc.constantFrom(null, true, ...Object.keys(MARKS)),
    fc.array(tie('anyJson'), { maxLength: 4 }),
    fc.dictionary(text, tie('anyJson'), { maxKeys: 4 }),
  ),
}));

/** The body with one of its parts replaced. */
const replaced = (body: unknown, steps: readonly number[], by: unknown): unknown => {
  const [step, ...rest] = steps;
  if (step === undefined || typeof body !== 'object' || body === null) return by;
  const keys = Object.keys(body);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return by;
  const inner = replaced((body as Record<string, unknown>)[key], rest, by);
  return Array.isArray(body)
    ? body.map((item: unknown, index) => (String(index) === key ? inner : item))
    : { ...body, [key]: inner };
};

const toJson = (value: unknown): string =>
  (JSON.stringify(value) ?? 'null').replaceAll(/"(mark: \w+)"/g, (_whole, mark: string) => MARKS[mark] ?? 'null');

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
}

const commands = async (): Promise<readonly Route[]> => {
  const { body } = await gateway.ask<{ paths: Record<string, Record<string, { operationId: string }>> }>(
    'GET',
    '/openapi.json',
  );
  return Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== 'get')
      .map(([method, { operationId }]) => ({ method: method.toUpperCase(), path, operationId })),
  );
};

const inPlace = (path: string, odd: { readonly name: string; readonly text: string }): string =>
  path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    name === odd.name ? encodeURIComponent(odd.text.replaceAll(/\p{Cs}/gu, '\ufffd')) || '%00' : (PLACES[name] ?? 'x'),
  );

describe('whatever JSON a command is given', () => {
  it('it is refused or recorded, never an error of ours, and the next command is shown', async () => {
    const routes = await commands();
    expect(routes.length).toBeGreaterThan(20);
    for (const { method, path, operationId } of routes) {
      // A fixed part of a namespace or of the cluster would only be deleted.
      const base = operationId.startsWith('delete')
        ? path.replace('{cluster}', 'gone').replace('{namespace}', 'gone')
        : path;
      const input = fc.record({
        whole: anyJson,
        steps: fc.array(fc.nat(5), { maxLength: 4 }),
        keepShape: fc.boolean(),
        odd: fc.record({ name: fc.constantFrom('none', 'none', 'none', ...Object.keys(PLACES)), text }),
        key: fc.option(fc.stringMatching(/^[a-z]{1,20}$/), { nil: undefined }),
      });
      const anything = fc.asyncProperty(input, async ({ whole, steps, keepShape, odd, key }) => {
        const body = keepShape ? replaced(BODIES[operationId] ?? {}, steps, whole) : whole;
        const headers = key === undefined ? {} : { 'idempotency-key': key };
        const answer = await gateway.ask<ErrorView>(method, inPlace(base, odd), { body: toJson(body), headers });
        expect([operationId, answer.status, answer.status < 500 ? '' : answer.body]).toEqual([
          operationId,
          answer.status,
          '',
        ]);
      });
      await fc.assert(anything, { numRuns: RUNS_PER_ROUTE });
    }
    const next = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('ordinary') });
    expect(next.status).toBe(202);
    const minSeq = next.headers.get('x-fairlead-seq');
    const shown = await gateway.ask<ClusterView>('GET', `/ns/default/clusters/ordinary?minSeq=${minSeq}`);
    expect([shown.status, shown.body.name]).toEqual([200, 'ordinary']);
    for (const path of ['/ns', '/connections', '/tokens', '/ns/default/clusters', '/quarantine'])
      expect([path, (await gateway.ask('GET', path)).status]).toEqual([path, 200]);
  }, 180_000);
});
