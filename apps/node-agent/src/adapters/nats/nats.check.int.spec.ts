import type { AgentConfig } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo } from 'node:net';
import { LogEnvironment } from '../../../test/log.environment.js';
import { checkNats } from './nats.check.js';

const node = { namespace: 'default', cluster: 'demo', node: 'demo-w-1', uid: '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10' };
let environment: LogEnvironment;

beforeAll(async () => {
  environment = await LogEnvironment.start();
}, 60_000);
afterAll(() => environment.stop());

const configFor = (url: string): AgentConfig => ({ ...node, natsUrls: [url] }) as unknown as AgentConfig;

describe('the check of an agent', () => {
  it('reports the NATS server that it reaches', async () => {
    const credentials = await environment.credentials(node);
    expect(await checkNats({ config: configFor(environment.url), credentials, limitMs: 10_000 })).toEqual({
      reached: true,
      sentence: `${environment.url} is reached`,
    });
  });

  it('reports the NATS server that it cannot reach, and why', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const url = `nats://127.0.0.1:${port}`;
    const { reached, sentence } = await checkNats({ config: configFor(url), credentials: '', limitMs: 1_000 });
    expect(reached).toBe(false);
    expect(sentence).toContain(`${url} cannot be reached from this host: `);
    expect(sentence).toMatch(/refused/i);
  });

  it('reports that its credentials are rejected', async () => {
    const { reached, sentence } = await checkNats({
      config: configFor(environment.url),
      credentials: '',
      limitMs: 1_000,
    });
    expect(reached).toBe(false);
    expect(sentence).toMatch(/authorization/i);
  });
});
