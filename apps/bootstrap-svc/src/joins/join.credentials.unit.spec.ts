import { ExternalFailure } from '@fairlead/contracts';
import { DEFAULT_TUNING } from '@fairlead/node-scripts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeShell, FakeWorld, MemorySecrets } from '../../test/world.js';
import { cp, stateAfter, UID, w, wholeCluster } from '../bootstrap/bootstrap.fixtures.js';
import type { Present } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import { JoinsEffects } from './joins.effects.js';
import { HostAccess } from '../hosts/host.access.js';
import { RememberedSecrets } from '../secrets.cache.js';
import { JoinCredentialsSource } from './join.credentials.js';

const MINUTE_MS = 60_000;

describe('join credentials', () => {
  let world: FakeWorld;
  let secrets: MemorySecrets;
  let nowMs: number;
  let source: JoinCredentialsSource;

  const state = stateAfter(...wholeCluster()) as Present;
  const stepOf = (node: string, attempt = 1): RunningTask =>
    ({
      id: 'task',
      data: { node },
      state,
      attempt,
      signal: new AbortController().signal,
    }) as unknown as RunningTask;

  beforeEach(() => {
    world = new FakeWorld([]);
    for (const name of [cp(1), cp(2), cp(3)]) world.host(name).joinedAs = 'control-plane';
    secrets = new MemorySecrets();
    nowMs = Date.UTC(2026, 0, 1);
    const shell = new FakeShell(world, async (_what, work) => work());
    const remembered = new RememberedSecrets(secrets);
    const hosts = new HostAccess(shell, remembered, { triesMax: 1, deadlineMs: 1 });
    source = new JoinCredentialsSource(
      hosts,
      remembered,
      { now: () => new Date(nowMs) },
      { tuning: DEFAULT_TUNING, joinTokenTtlSeconds: 900 },
    );
  });

  it('are shared by the workers of the next minutes, sealed with their expiry, and created again before they expire [CB-Ladybug 16]', async () => {
    const first = await source.forWorker(stepOf(w(1)));
    expect(await source.forWorker(stepOf(w(2)))).toEqual(first);
    expect(JSON.parse((await secrets.get(`bootstrap-svc.join.${UID}` as never)) ?? '')).toEqual({
      ...first,
      expiresAt: '2026-01-01T00:15:00.000Z',
    });
    nowMs += 7.5 * MINUTE_MS;
    expect(await source.forWorker(stepOf(w(2)))).toEqual(first);
    nowMs += 1;
    expect(await source.forWorker(stepOf(w(2)))).not.toEqual(first);
    expect(world.credentials).toHaveLength(2);
  });

  /** One join attempt on slow hosts: the delays before each `kubeadm join`. */
  const joining = (kind: 'JoinWorker' | 'JoinControlPlane', node: string, late: readonly number[]) => {
    const issuedAt = new Map<string, number>();
    const joins: string[] = [];
    const recorded: unknown[] = [];
    const run = async ({ name, text }: { readonly name: string; readonly text: string }) => {
      if (name.startsWith('credentials')) {
        const token = `${String(issuedAt.size).padStart(6, '0')}.0123456789abcdef`;
        issuedAt.set(token, nowMs);
        return {
          stdout: `FAIRLEAD-RESULT {"token":"${token}","certificateKey":${kind === 'JoinWorker' ? 'null' : `"${'0'.repeat(64)}"`}}`,
        };
      }
      if (name.startsWith('check-ports')) return { stdout: 'FAIRLEAD-RESULT {"answers":[]}' };
      if (!name.startsWith('kubeadm-join')) return { stdout: 'FAIRLEAD-RESULT {"changed":false}' };
      nowMs += late[joins.length] ?? 0;
      const token = [...issuedAt.keys()].find((one) => text.includes(one)) ?? '';
      joins.push(token);
      if (nowMs >= (issuedAt.get(token) ?? 0) + 15 * MINUTE_MS)
        throw new ExternalFailure({ operation: 'kubeadm join', target: node, message: refused(token) });
      return { stdout: `FAIRLEAD-RESULT {"changed":true${kind === 'JoinWorker' ? '' : ',"interrupted":false'}}` };
    };
    const remembered = new RememberedSecrets(secrets);
    const shell = { open: async () => ({ release: () => undefined, run }) };
    const hosts = new HostAccess(shell as never, remembered, { triesMax: 1, deadlineMs: 1 });
    const settings = { tuning: DEFAULT_TUNING, joinTokenTtlSeconds: 900 };
    const credentials = new JoinCredentialsSource(hosts, remembered, { now: () => new Date(nowMs) }, settings);
    const effects = new JoinsEffects(hosts, credentials, settings);
    const step = {
      ...stepOf(node),
      record: async (outcome: unknown) => void recorded.push(outcome),
    } as unknown as RunningTask;
    const work = kind === 'JoinWorker' ? effects.joinWorker(step) : effects.joinControlPlane(step);
    return { work, issued: issuedAt, joins, recorded };
  };
  const refused = (token: string): string =>
    `error execution phase preflight: couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID "${token.slice(0, 6)}"`;

  it.each([
    ['JoinWorker', w(1), 'WorkerJoined'],
    ['JoinControlPlane', cp(3), 'ControlPlaneJoined'],
  ] as const)(
    'that expire while a host is slow are replaced in the same attempt of %s, and that is recorded [Cluster API 20]',
    async (kind, node, joined) => {
      const { work, issued, joins, recorded } = joining(kind, node, [16 * MINUTE_MS, 0]);
      await work;
      expect(joins).toEqual([...issued.keys()]);
      expect(joins).toHaveLength(2);
      expect(recorded).toEqual([
        { type: 'JoinTokenRenewed', data: { uid: UID, node, endedAt: '2026-01-01T00:15:00.000Z' } },
        { type: joined, data: { uid: UID, node } },
      ]);
      expect(JSON.stringify(recorded)).not.toContain('0123456789abcdef');
    },
  );

  it("that expire repeatedly are replaced once per attempt, and the attempt fails with kubeadm's error", async () => {
    const { work, issued } = joining('JoinWorker', w(1), [16 * MINUTE_MS, 16 * MINUTE_MS]);
    await expect(work).rejects.toThrow(/could not find a JWS signature/);
    expect(issued.size).toBe(2);
  });

  it('have expired only if kubeadm rejects the token and its lifetime is over', async () => {
    const first = await source.forWorker(stepOf(w(1)));
    const failure = (message: string) => new ExternalFailure({ operation: 'kubeadm join', target: w(1), message });
    expect(source.hasEnded(first, failure(refused(first.token)))).toBe(false);
    nowMs += 15 * MINUTE_MS;
    expect(source.hasEnded(first, failure(refused(first.token)))).toBe(true);
    expect(source.hasEnded(first, failure('no route to host'))).toBe(false);
  });

  it('are created once for workers that join at the same time', async () => {
    await Promise.all([w(1), w(2), w(3)].map((node) => source.forWorker(stepOf(node))));
    expect(world.credentials).toHaveLength(1);
  });

  it('are new for a worker whose join failed: the old ones may be the reason', async () => {
    const first = await source.forWorker(stepOf(w(1)));
    expect(await source.forWorker(stepOf(w(1), 2))).not.toEqual(first);
  });

  it('are new for each control plane, with the certificates encrypted by a key [ORBITER 7, CB-Ladybug 16]', async () => {
    const first = await source.forControlPlane(stepOf(cp(2)));
    const second = await source.forControlPlane(stepOf(cp(3)));
    expect(first.certificateKey).toMatch(/^[0-9a-f]{64}$/);
    expect(second.certificateKey).toMatch(/^[0-9a-f]{64}$/);
    expect([second.token, second.certificateKey]).not.toContain(first.token);
    expect(second.certificateKey).not.toBe(first.certificateKey);
  });

  it('are created on another control plane if the first one is lost', async () => {
    world.unreachable.add(cp(1));
    expect(await source.forWorker(stepOf(w(1)))).toMatchObject({ caCertHash: `sha256:${'ab'.repeat(32)}` });
  });

  it('that no control plane can create are a failure with the name of the last one tried', async () => {
    for (const name of [cp(1), cp(2), cp(3)]) world.unreachable.add(name);
    const failure = await source.forWorker(stepOf(w(1))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ExternalFailure);
    expect((failure as ExternalFailure).target).toBe(cp(3));
  });
});
