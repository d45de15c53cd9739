import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());
describe('completion', () => {
  it('offers the names that the server knows, and nothing when it is away', async () => {
    gateway.on('GET', '/ns/default/clusters', { body: { items: [clusterView()] } });
    const env = { FAIRLEAD_SERVER: gateway.url };
    expect((await run(['__complete', '--', 'cluster', 'get', ''], fakeIo({ env }))).stdout).toBe('demo\n');
    expect(
      await run(['__complete', '--', 'cluster', 'get', ''], fakeIo({ env: { FAIRLEAD_SERVER: 'http://127.0.0.1:1' } })),
    ).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
