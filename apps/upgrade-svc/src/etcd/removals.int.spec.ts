import type { ClusterUid, Fact } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { controlPlane, startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { Etcd } from './etcd.effects.js';
import type { RecordRemoval } from './removals.decider.js';
import { RemovalsEffects } from './removals.effects.js';
import type { SnapshotKeeper } from './snapshot.keeper.js';

const UID = 'a1b2' as ClusterUid;
const TAKEN = { node: controlPlane(2), sha256: 'x', bytes: 1, revision: '1', keys: 1, dataRef: 'r' };

describe('a control plane that leaves', () => {
  let lab: LabCluster;
  /** Who led etcd when the snapshot was taken. */
  let leaders: readonly (string | undefined)[];
  const { signal } = new AbortController();

  beforeEach(async () => {
    leaders = [];
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
  });
  afterEach(() => lab.stop());

  const members = async () => (await new Etcd(lab.cluster, signal).facts(await lab.cluster.nodes())).members;
  const leader = async (): Promise<string | undefined> => (await members()).find((member) => member.leader)?.name;

  /** What is recorded of an attempt to let it go. */
  const leave = async (node: string): Promise<readonly Fact[]> => {
    const recorded: Fact[] = [];
    const keeper = {
      save: async () => {
        leaders = [...leaders, await leader()];
        return TAKEN;
      },
    };
    const clusters = { of: async () => lab.cluster };
    const effects = new RemovalsEffects(clusters as unknown as ClusterAccess, keeper as unknown as SnapshotKeeper);
    await effects.prepareRemoval({
      ...{ namespace: 'default', cluster: 'demo', signal, data: { uid: UID, node, attempt: 1 } },
      record: async ({ data: { snapshot, outcome } }: RecordRemoval) => {
        recorded.push(...(snapshot === undefined ? [] : [snapshot]), outcome);
      },
    } as never);
    return recorded;
  };

  it('is refused where etcd would lose its quorum, with the numbers of voters, healthy ones, and voters afterwards; nothing is done [ORBITER 20, Cluster API 22]', async () => {
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

  it('may leave where it is the one that is down, since etcd has as many healthy members afterwards [ORBITER 20, ORBITER 21]', async () => {
    lab.simulated.etcd.set(controlPlane(3), { running: false });
    expect(await leave(controlPlane(3))).toMatchObject([
      { type: 'EtcdSnapshotTaken' },
      { type: 'ControlPlaneRemovalPrepared', data: { quorum: { voters: 3, healthy: 2, target: 2 } } },
    ]);
  });

  it('has etcd saved first, then its lead handed over where it leads [ORBITER 33, Cluster API 22]', async () => {
    const leading = (await leader()) ?? '';
    const [snapshot, prepared] = await leave(leading);
    const name = `demo-removal-${leading}-1`;
    expect(snapshot).toMatchObject({ type: 'EtcdSnapshotTaken', data: { snapshot: name } });
    const next = await leader();
    expect(next).not.toBe(leading);
    expect(leaders).toEqual([leading]);
    expect(prepared).toMatchObject({
      type: 'ControlPlaneRemovalPrepared',
      data: { quorum: { voters: 3, healthy: 3, target: 2 }, snapshot: name, leader: next },
    });
  });

  it('leaves the lead of etcd where it is when another one leads', async () => {
    const leading = await leader();
    const other = [1, 2, 3].map(controlPlane).find((name) => name !== leading) ?? '';
    const [, prepared] = await leave(other);
    expect([await leader(), prepared?.data]).toMatchObject([leading, { leader: leading }]);
  });
});
