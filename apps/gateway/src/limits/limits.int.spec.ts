import type { CreatedTokenView, ErrorView, RoleGrant } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { request, useGateway, type AskOptions } from '../gateway.fixtures.js';

/** One replica without limits that a test would meet, and one with small ones. */
const SMALL = {
  TOKEN_CHANGES_LIMIT: '0.5/6',
  TOKEN_READS_LIMIT: '0.5/20',
  NAMESPACE_CHANGES_LIMIT: '0.5/9',
  NAMESPACE_READS_LIMIT: '0.5/1000',
  TOKEN_STREAMS_MAX: '2',
  TOKEN_WAITS_MAX: '2',
  TOKEN_AUDITS_MAX: '1',
};
const LIMITED = { replica: 1 };

const gateway = useGateway(async () => {
  for (const name of ['team', 'other']) await gateway.ask('POST', '/ns', { body: { name } });
  await gateway.ask('POST', '/ns/team/clusters', { body: request('demo') });
  await gateway.ask('PUT', '/connections/lab', {
    body: { provider: 'lab', region: 'lab-1', namespaces: ['*'], settings: { endpoint: 'http://127.0.0.1:1' } },
  });
  await gateway.startReplica(SMALL);
});

const tokenIn = async (namespace: string, role: RoleGrant['role'] = 'operator'): Promise<string> => {
  const body = { name: 'spec', roles: [{ namespace, role }] };
  return (await gateway.ask<CreatedTokenView>('POST', '/tokens', { body })).body.token;
};

/** A change that is refused for another reason, once it is looked at. */
const change = (token: string, namespace = 'team', options: AskOptions = {}) =>
  gateway.ask<ErrorView>('POST', `/ns/${namespace}/clusters/none/retry`, { ...LIMITED, token, ...options });

const reasonsOf = async (count: number, ask: () => Promise<{ readonly body: Partial<ErrorView> }>) => {
  const reasons: (string | undefined)[] = [];
  for (let index = 0; index < count; index += 1) reasons.push((await ask()).body.reason);
  return reasons;
};

describe('a token that sends changes without end', () => {
  it('is refused after its burst with the seconds to wait, and another token of another namespace is not', async () => {
    const [one, other] = [await tokenIn('team'), await tokenIn('other')];
    expect(await reasonsOf(7, () => change(one))).toEqual([
      ...Array.from({ length: 6 }, () => 'cluster.unknown'),
      'token.too-many-requests',
    ]);
    const refused = await change(one);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(2);
    expect(refused.body.message).not.toContain(one);
    expect((await change(other, 'other')).body.reason).toBe('cluster.unknown');
    // What only reads is counted apart.
    expect((await gateway.ask('GET', '/ns/team/clusters', { ...LIMITED, token: one })).status).toBe(200);
  });

  it.each([
    ['the log of a node', '/ns/team/clusters/none/nodes/n/logs'],
    ['the log of a node as it is written', '/ns/team/clusters/none/nodes/n/logs/stream'],
    ['a kubeconfig', '/ns/team/clusters/none/kubeconfig'],
    ["a cluster with its kubeconfig below CB-Ladybug's base", '/ladybug/ns/team/clusters/none'],
    ['a hook secret', '/ns/team/hook-secrets/none/value', 'hook.secret-unknown'],
    ['an add-on secret', '/ns/team/addon-secrets/none/values', 'addon.secret-unknown'],
  ])('may be one that reads what is recorded: %s', async (_what, path, reason = 'cluster.unknown') => {
    const token = await tokenIn('*', 'admin');
    const reasons = await reasonsOf(7, () => gateway.ask<ErrorView>('GET', path, { ...LIMITED, token }));
    expect(reasons).toEqual([...Array.from({ length: 6 }, () => reason), 'token.too-many-requests']);
  });

  it('may go on when it has waited, and has changed nothing meanwhile', async () => {
    const token = await tokenIn('other');
    await reasonsOf(6, () => change(token, 'other'));
    const made = await gateway.ask<ErrorView>('POST', '/ns/other/clusters', {
      ...LIMITED,
      token,
      body: request('late'),
    });
    expect(made.body.reason).toMatch(/too-many-requests/);
    expect(await gateway.log('evt.*.other.late.>')).toEqual([]);
    const seconds = Number(made.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    expect((await gateway.ask('POST', '/ns/other/clusters', { ...LIMITED, token, body: request('late') })).status).toBe(
      202,
    );
  });

  it('counts a large body several times', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'large' } });
    const token = await tokenIn('large');
    const body = { ...request('large'), description: 'x'.repeat(60 * 1024) };
    await gateway.ask('POST', '/ns/large/clusters', { ...LIMITED, token, body });
    expect(await reasonsOf(3, () => change(token, 'large'))).toEqual([
      'cluster.unknown',
      'cluster.unknown',
      'token.too-many-requests',
    ]);
  });
});

describe('a namespace', () => {
  it('has one limit for all tokens with a role in it, and keeps none of its administrators out', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'shared' } });
    const tokens = [await tokenIn('shared'), await tokenIn('shared')];
    const reasons = [
      ...(await reasonsOf(5, () => change(tokens[0]!, 'shared'))),
      ...(await reasonsOf(6, () => change(tokens[1]!, 'shared'))),
    ];
    expect(reasons.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 'cluster.unknown'));
    expect(reasons.slice(10)).toEqual(['namespace.too-many-requests']);
    const everywhere = await tokenIn('*', 'admin');
    expect((await change(everywhere, 'shared')).body.reason).toBe('cluster.unknown');
  });

  it('is not used up by a token without a role in it', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'victim' } });
    const [intruder, own] = [await tokenIn('other'), await tokenIn('victim')];
    expect(new Set(await reasonsOf(20, () => change(intruder, 'victim')))).toEqual(new Set(['auth.role-missing']));
    expect((await change(own, 'victim')).body.reason).toBe('cluster.unknown');
  });
});

describe('a token that reads without end', () => {
  it('is refused after its burst', async () => {
    const token = await tokenIn('team', 'viewer');
    const read = () => gateway.ask<ErrorView>('GET', '/version', { ...LIMITED, token });
    const reasons = await reasonsOf(22, read);
    expect(reasons.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(reasons[21]).toBe('token.too-many-requests');
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect((await gateway.ask('GET', path, { ...LIMITED, token: null })).status).toBe(200);
  });
});

describe('a token with open event streams', () => {
  const open: AbortController[] = [];

  afterEach(() => {
    for (const stream of open.splice(0)) stream.abort();
  });

  const stream = async (token: string): Promise<readonly [number, string | undefined]> => {
    const ended = new AbortController();
    open.push(ended);
    const response = await fetch(`${gateway.baseUrl(1)}/ns/team/clusters/demo/events/stream`, {
      headers: { authorization: `Bearer ${token}` },
      signal: ended.signal,
    });
    if (response.ok) return [response.status, undefined];
    return [response.status, ((await response.json()) as ErrorView).reason];
  };

  it('gets no more than it may have at once, another token does, and one that ends makes room', async () => {
    const [greedy, other] = [await tokenIn('team', 'viewer'), await tokenIn('team', 'viewer')];
    expect(await stream(greedy)).toEqual([200, undefined]);
    expect(await stream(greedy)).toEqual([200, undefined]);
    expect(await stream(greedy)).toEqual([429, 'token.too-many-streams']);
    expect(await stream(other)).toEqual([200, undefined]);
    open[0]?.abort();
    expect(
      await eventually(
        () => stream(greedy),
        ([status]) => status === 200,
        { everyMs: 200 },
      ),
    ).toEqual([200, undefined]);
  });
});

describe('a token with requests that wait', () => {
  it('gets no more than it may have at once, nothing of the refused one is recorded, and another token waits', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'patient' } });
    const [greedy, other] = [await tokenIn('patient'), await tokenIn('patient')];
    const create = (token: string, name: string) =>
      gateway.ask<ErrorView>('POST', '/ns/patient/clusters', {
        ...LIMITED,
        token,
        body: request(name),
        headers: { prefer: 'wait=6' },
      });
    const waiting = [create(greedy, 'one'), create(greedy, 'two')];
    for (const name of ['one', 'two'])
      await eventually(async () => (await gateway.log(`evt.*.patient.${name}.>`)).length > 0);
    const refused = await create(greedy, 'three');
    expect([refused.status, refused.body.reason]).toEqual([429, 'token.too-many-waits']);
    expect((await create(other, 'four')).status).toBe(202);
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([202, 202]);
    expect(await gateway.log('evt.*.patient.three.>')).toEqual([]);
    expect((await create(greedy, 'three')).status).toBe(202);
  });
});
