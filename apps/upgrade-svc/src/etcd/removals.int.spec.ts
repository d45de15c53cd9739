import type { ClusterUid, Fact } from '@fairlead/contracts';
import type { Clock } from '@fairlead/service-kit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { controlPlane, startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { Etcd } from './etcd.effects.js';
import type { RemovalCommand } from './removals.decider.js';
import { RemovalsEffects } from './removals.effects.js';
import type { SnapshotKeeper } from './snapshot.keeper.js';

const UID = 'a1b2' as ClusterUid;
const SINCE = '2026-11-24T10:00:00.000Z';
const MINUTE_MS = 60_000;
const TAKEN = { node: controlPlane(2), sha256: 'x', bytes: 1, revision: '1', keys: 1, dataRef: 'r' };

describe('the removal of a control plane', () => {
  let lab: LabCluster;
  /** The etcd leader at the time of the snapshot. */
  let leaders: readonly (string | undefined)[];
  const { signal } = new AbortController();

  beforeEach(async () => {
    leaders = [];
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
  });
  afterEach(() => lab.stop());

  const members = async () => (await new Etcd(lab.cluster, signal).facts(await lab.cluster.nodes())).members;
  const leader = async (): Promise<string | undefined> => (await members()).find((member) => member.leader)?.name;

  /** The tasks, at a later time. */
  const tasks = (laterMs = 0) => {
    const keeper = {
      save: async () => {
        leaders = [...leaders, await leader()];
        return TAKEN;
      },
    };
    const clusters = { of: async () => lab.cluster };
    const clock = { now: () => new Date(Date.parse(SINCE) + laterMs) };
    return new RemovalsEffects(
      clusters as unknown as ClusterAccess,
      keeper as unknown as SnapshotKeeper,
      clock as unknown as Clock,
    );
  };
  const contextOf = (recorded: Fact[], data: object) =>
    ({
      ...{ namespace: 'default', cluster: 'demo', signal, data: { uid: UID, attempt: 1, ...data } },
      requeueAfter: (delayMs: number, reason: string) => ({ kind: 'requeue', delayMs, reason }),
      record: async ({ type, data: outcome }: RemovalCommand) => {
        recorded.push(...(type === 'RecordLook' ? [outcome] : [...outcome.done, outcome.outcome]));
      },
    }) as never;

  /** Returns the recorded facts of an attempt to prepare its removal. */
  const leave = async (node: string): Promise<readonly Fact[]> => {
    const recorded: Fact[] = [];
    await tasks().prepareRemoval(contextOf(recorded, { node }));
    return recorded;
  };

  /** Returns the recorded facts of a later check, and the delay before the next one. */
  const look = async (blocked: object, laterMs: number): Promise<readonly [readonly Fact[], number | undefined]> => {
    const recorded: Fact[] = [];
    const again = await tasks(laterMs).watchRemoval(contextOf(recorded, { since: SINCE, ...blocked }));
    return [recorded, again?.delayMs];
  };

  it('is refused if etcd would lose its quorum, with the numbers of voters, healthy ones, and voters afterwards; nothing is done [ORBITER 20, Cluster API 22]', async () => {
    lab.simulated.etcd.set(controlPlane(3), { running: false });
    const before = await leader();
    expect(await leave(controlPlane(2))).toMatchObject([
      {
        type: 'ControlPlaneRemovalBlocked',
        data: {
          node: controlPlane(2),
          quorum: { voters: 3, healthy: 2, target: 2 },
          cause: { message: 'etcd would have 1 healthy of 2 voters, and needs 2' },
        },
      },
    ]);
    expect([leaders, await leader()]).toEqual([[], before]);
  });

  it('is allowed if it is the one that is down, because etcd has as many healthy members afterwards [ORBITER 20, ORBITER 21]', async () => {
    lab.simulated.etcd.set(controlPlane(3), { running: false });
    expect(await leave(controlPlane(3))).toMatchObject([
      { type: 'EtcdSnapshotTaken' },
      { type: 'ControlPlaneRemovalPrepared', data: { quorum: { voters: 3, healthy: 2, target: 2 } } },
    ]);
  });

  it('saves etcd first, then moves its leadership if it leads [ORBITER 33, Cluster API 22]', async () => {
    const leading = (await leader()) ?? '';
    const [snapshot, moved, prepared] = await leave(leading);
    const name = `demo-removal-${leading}-1`;
    expect(snapshot).toMatchObject({ type: 'EtcdSnapshotTaken', data: { snapshot: name } });
    const next = await leader();
    expect(next).not.toBe(leading);
    expect(leaders).toEqual([leading]);
    expect(moved).toEqual({
      type: 'EtcdLeaderMoved',
      data: { uid: UID, upgradeId: null, operation: null, node: leading, to: next },
    });
    expect(prepared).toMatchObject({
      type: 'ControlPlaneRemovalPrepared',
      data: { quorum: { voters: 3, healthy: 3, target: 2 }, snapshot: name, leader: next },
    });
  });

  it('keeps the etcd leader if it is another one', async () => {
    const leading = await leader();
    const other = [1, 2, 3].map(controlPlane).find((name) => name !== leading) ?? '';
    const [, prepared] = await leave(other);
    expect([await leader(), prepared?.data]).toMatchObject([leading, { leader: leading }]);
  });

  it('that etcd blocks is checked with backoff, and nothing is recorded while that does not change', async () => {
    lab.simulated.etcd.set(controlPlane(3), { running: false });
    const [blocked] = await leave(controlPlane(2));
    const known = blocked?.data as object;
    expect(await look(known, 0)).toEqual([[], 15_000]);
    expect(await look(known, MINUTE_MS)).toEqual([[], MINUTE_MS]);
    expect(await look(known, 60 * MINUTE_MS)).toEqual([[], 10 * MINUTE_MS]);
    expect(await look({ ...known, attempt: 4 }, 0)).toEqual([[], 8 * 15_000]);
  });

  it('that etcd blocks is recorded again with other numbers, and when it is no longer blocked', async () => {
    lab.simulated.etcd.set(controlPlane(3), { running: false });
    const [blocked] = await leave(controlPlane(2));
    const known = blocked?.data as object;
    const earlier = { ...known, quorum: { voters: 3, healthy: 1, target: 2 } };
    const [stated] = await look(earlier, MINUTE_MS);
    expect(stated).toEqual([blocked]);
    lab.simulated.etcd.set(controlPlane(3), { running: true });
    expect(await look(known, MINUTE_MS)).toEqual([
      [{ type: 'ControlPlaneRemovalUnblocked', data: { uid: UID, node: controlPlane(2), attempt: 1 } }],
      undefined,
    ]);
  });

  it('whose preparation failed is prepared again after a delay that doubles with each attempt, up to four hours', async () => {
    const failed = { node: controlPlane(2), quorum: null };
    expect(await look(failed, 0)).toEqual([[], 15_000]);
    expect(await look(failed, 15_000)).toEqual([
      [expect.objectContaining({ type: 'ControlPlaneRemovalUnblocked' })],
      undefined,
    ]);
    expect(await look({ ...failed, attempt: 50 }, 0)).toEqual([[], 10 * MINUTE_MS]);
    const [stated] = await look({ ...failed, attempt: 50 }, 4 * 60 * MINUTE_MS);
    expect(stated).toHaveLength(1);
  });
});
