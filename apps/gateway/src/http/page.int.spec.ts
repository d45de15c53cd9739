import type { ClusterList, ErrorView, NamespaceList, TokenList } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { prepareWorld, request, startTestGateway, type TestGateway } from '../gateway.fixtures.js';

const CLUSTERS = ['a', 'a-1', 'a1', 'b', 'b-2'].map((name) => `page-${name}`);

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
  await prepareWorld(gateway);
  for (const name of CLUSTERS) {
    const { status } = await gateway.ask('POST', '/ns/default/clusters', { body: request(name) });
    expect(status).toBe(202);
  }
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
}, 30_000);

const listed = (query: string, base = '') => gateway.ask<ClusterList>('GET', `${base}/ns/default/clusters${query}`);

describe('lists of the API', () => {
  it('are read page by page, as in Kubernetes', async () => {
    const names: string[] = [];
    let query = '?limit=2';
    for (let pages = 1; ; pages += 1) {
      const { status, body } = await listed(query);
      expect(status).toBe(200);
      names.push(...body.items.map(({ name }) => name));
      if (body.metadata === undefined) {
        expect(pages).toBe(3);
        break;
      }
      query = `?limit=2&continue=${body.metadata.continue}`;
    }
    expect(names).toEqual(CLUSTERS);
  });

  it('have pages of namespaces, tokens, connections and operations, too', async () => {
    for (const name of ['page-1', 'page-2'])
      expect((await gateway.ask('POST', '/ns', { body: { name, description: '' } })).status).toBe(201);
    const first = await gateway.ask<NamespaceList>('GET', '/ns?limit=1');
    expect(first.body.items).toHaveLength(1);
    const next = await gateway.ask<NamespaceList>('GET', `/ns?limit=1000&continue=${first.body.metadata?.continue}`);
    expect(next.body.metadata).toBeUndefined();
    expect([...first.body.items, ...next.body.items].map(({ name }) => name)).toEqual(['default', 'page-1', 'page-2']);
    for (const path of ['/tokens', '/connections', '/ns/default/clusters/page-a/operations']) {
      const { status, body } = await gateway.ask<TokenList>('GET', `${path}?limit=1`);
      expect([path, status, body.items.length]).toEqual([path, 200, 1]);
    }
  });

  it('refuse a token of another list, and a limit out of range', async () => {
    const { body } = await gateway.ask<NamespaceList>('GET', '/ns?limit=1');
    const foreign = await gateway.ask<ErrorView>('GET', `/ns/default/clusters?continue=${body.metadata?.continue}`);
    expect([foreign.status, foreign.body.reason, foreign.body.field]).toEqual([
      400,
      'list.continue-invalid',
      'continue',
    ]);
    for (const limit of ['0', '1001', 'x', ''])
      expect((await gateway.ask<ErrorView>('GET', `/ns?limit=${limit}`)).body.reason).toBe('request.malformed');
  });

  it('are whole below /ladybug', async () => {
    const { status, body } = await listed('?limit=2', '/ladybug');
    expect(status).toBe(200);
    expect(body.items).toHaveLength(CLUSTERS.length);
    expect(body).not.toHaveProperty('metadata');
  }, 60_000);
});
