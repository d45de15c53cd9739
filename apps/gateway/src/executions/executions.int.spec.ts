import type { ClusterView, CreatedTokenView, Fact } from '@fairlead/contracts';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { request, useGateway } from '../gateway.fixtures.js';
import { planned, uid as storyUid } from '../story.fixtures.js';

const NODE = 'demo-w-1';
const gateway = useGateway();

/** A cluster whose only node is on this connection. */
const clusterOn = async (connection: string): Promise<void> => {
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request(connection) });
  const text = JSON.stringify(planned([NODE])).replaceAll(storyUid, body.uid);
  await gateway.state(JSON.parse(text.replaceAll('"lab"', `"${connection}"`)) as Fact, { cluster: connection });
};

const tokenOf = async (namespace: string): Promise<string> => {
  const body = { name: `admin-of-${namespace === '*' ? 'all' : namespace}`, roles: [{ namespace, role: 'admin' }] };
  return (await gateway.ask<CreatedTokenView>('POST', '/tokens', { body })).body.token;
};

describe('a command on a node', () => {
  let namespaced: string;
  let everywhere: string;

  const exec = async (cluster: string, token: string, base = ''): Promise<readonly [number, string]> => {
    const { status, body } = await gateway.ask<{ readonly reason?: string; readonly state?: string }>(
      'POST',
      `${base}/ns/default/clusters/${cluster}/nodes/${NODE}/exec`,
      { token, body: { command: ['id'] } },
    );
    return [status, body.reason ?? body.state ?? ''];
  };
  const requestsIn = async (cluster: string): Promise<number> =>
    (await gateway.log(`evt.*.default.${cluster}.audit.NodeExecRequested`)).length;

  beforeAll(async () => {
    const settings = { hosts: [{ name: 'rack-1', address: '198.51.100.11' }], secret: 'key' };
    const rack = { provider: 'ssh', region: 'hall', namespaces: ['*'], settings };
    expect((await gateway.ask('PUT', '/connections/rack', { body: rack })).status).toBeLessThan(300);
    await clusterOn('lab');
    await clusterOn('rack');
    [namespaced, everywhere] = [await tokenOf('default'), await tokenOf('*')];
  });

  it('of the lab is for administrators of all namespaces, whatever base path it is requested by', async () => {
    for (const base of ['', '/ladybug'])
      expect(await exec('lab', namespaced, base)).toEqual([403, 'node.exec-simulated']);
    expect(await requestsIn('lab')).toBe(0);
    expect(await exec('lab', everywhere)).toEqual([202, 'running']);
    expect(await requestsIn('lab')).toBe(1);
  });

  it('of real hosts is for administrators of its namespace', async () => {
    expect(await exec('rack', namespaced)).toEqual([202, 'running']);
    expect(await requestsIn('rack')).toBe(1);
  });

  it('is refused where the connection is not known to be real', async () => {
    await clusterOn('vanished');
    expect(await exec('vanished', namespaced)).toEqual([403, 'node.exec-simulated']);
    expect(await exec('vanished', everywhere)).toEqual([202, 'running']);
  });
});
