import { WorldFailure } from '@fairlead/contracts';
import { DEFAULT_TUNING } from '@fairlead/node-scripts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeShell, FakeWorld, MemorySecrets } from '../../test/world.js';
import { cp, stateAfter, UID, w, wholeCluster } from '../bootstrap/bootstrap.fixtures.js';
import type { Present } from '../bootstrap/bootstrap.state.js';
import type { Step } from '../bootstrap/step.js';
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
  const stepOf = (node: string, attempt = 1): Step =>
    ({
      id: 'task',
      data: { node },
      state,
      attempt,
      signal: new AbortController().signal,
    }) as unknown as Step;

  beforeEach(() => {
    world = new FakeWorld([]);
    for (const name of [cp(1), cp(2), cp(3)]) world.host(name).joinedAs = 'control-plane';
    secrets = new MemorySecrets();
    nowMs = Date.UTC(2026, 0, 1);
    const shell = new FakeShell(world, async (_what, work) => work());
    const remembered = new RememberedSecrets(secrets);
    const hosts = new HostAccess(shell, remembered, { triesMax: 1, deadlineMs: 1 });
    source = new JoinCredentialsSource(hosts, remembered, { now: () => new Date(nowMs) }, { tuning: DEFAULT_TUNING });
  });

  it('are shared by the workers of the next minutes, sealed with their end, and made again before they end [CB-Ladybug 16]', async () => {
    const first = await source.forWorker(stepOf(w(1)));
    expect(await source.forWorker(stepOf(w(2)))).toEqual(first);
    expect(JSON.parse((await secrets.get(`bootstrap-svc.join.${UID}` as never)) ?? '')).toEqual({
      ...first,
      expiresAt: '2026-01-01T00:30:00.000Z',
    });
    nowMs += 21 * MINUTE_MS;
    expect(await source.forWorker(stepOf(w(2)))).not.toEqual(first);
    expect(world.credentials).toHaveLength(2);
  });

  it('are asked for once by workers that join at the same time', async () => {
    await Promise.all([w(1), w(2), w(3)].map((node) => source.forWorker(stepOf(node))));
    expect(world.credentials).toHaveLength(1);
  });

  it('are new for a worker whose join failed: the old ones may be the reason', async () => {
    const first = await source.forWorker(stepOf(w(1)));
    expect(await source.forWorker(stepOf(w(1), 2))).not.toEqual(first);
  });

  it('are fresh for each control plane, with the certificates under a key [ORBITER 7, CB-Ladybug 16]', async () => {
    const first = await source.forControlPlane(stepOf(cp(2)));
    const second = await source.forControlPlane(stepOf(cp(3)));
    expect(first.certificateKey).toMatch(/^[0-9a-f]{64}$/);
    expect(second.certificateKey).toMatch(/^[0-9a-f]{64}$/);
    expect([second.token, second.certificateKey]).not.toContain(first.token);
    expect(second.certificateKey).not.toBe(first.certificateKey);
  });

  it('come from another control plane when the first one is lost', async () => {
    world.unreachable.add(cp(1));
    expect(await source.forWorker(stepOf(w(1)))).toMatchObject({ caCertHash: `sha256:${'ab'.repeat(32)}` });
  });

  it('that no control plane can issue are a failure that names the last one tried', async () => {
    for (const name of [cp(1), cp(2), cp(3)]) world.unreachable.add(name);
    const failure = await source.forWorker(stepOf(w(1))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WorldFailure);
    expect((failure as WorldFailure).target).toBe(cp(3));
  });
});
