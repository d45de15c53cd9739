import type { ClusterView, ErrorView } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { request, useGateway, type ApiResponse } from './gateway.fixtures.js';

const gateway = useGateway();

const clusters = '/ns/default/clusters';
const create = (name: string) =>
  gateway.ask<Omit<ClusterView, 'kind'> & Omit<ErrorView, 'kind'>>('POST', clusters, { body: request(name) });

const answers = <Body>(ask: () => Promise<ApiResponse<Body>>, status: number): Promise<ApiResponse<Body>> =>
  eventually(ask, (answer) => answer.status === status);

describe('without NATS', () => {
  it('answers requests with 503, continues to serve reads, and recovers when it returns', async () => {
    expect((await create('before')).status).toBe(202);
    await answers(() => gateway.ask('GET', `${clusters}/before`), 200);
    await gateway.environment.killNats();
    const refused = await create('during');
    expect([refused.status, refused.body.reason]).toEqual([503, 'system.unavailable']);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await gateway.ask('GET', `${clusters}/before`)).status).toBe(200);
    await gateway.environment.startNats();
    const after = await answers(() => create('during'), 202);
    await answers(() => gateway.ask('GET', `${clusters}/during`), 200);
    expect(after.body.uid).toBeDefined();
  }, 90_000);
});

describe('without PostgreSQL', () => {
  it('answers everything with 503, and recovers when it returns', async () => {
    await gateway.environment.killPostgres();
    const refused = await gateway.ask<ErrorView>('GET', `${clusters}/before`);
    expect([refused.status, refused.body.reason]).toEqual([503, 'system.unavailable']);
    expect(JSON.stringify(refused.body)).not.toMatch(/password|select /i);
    await gateway.environment.startPostgres();
    await answers(() => gateway.ask('GET', `${clusters}/before`), 200);
    await answers(() => create('again'), 202);
    await answers(() => gateway.ask('GET', `${clusters}/again`), 200);
  }, 90_000);
});
