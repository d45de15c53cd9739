import type { SnapshotWriter } from '@fairlead/service-kit/snapshots';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import type { Program, ProgramEnd, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { SnapshotKeeper, type KeeperParts } from './snapshot.keeper.js';

const OWNER = { namespace: 'default', cluster: 'demo', uid: 'u' };
const SAID_BYTES = 100;

describe('a snapshot that is larger than it may be', () => {
  let lab: LabCluster;
  let happened: string[];

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
    happened = [];
  });
  afterEach(() => lab.stop());

  const keeper = (bytesMax: number): SnapshotKeeper => {
    const writer: SnapshotWriter = {
      write: async (chunk) => void happened.push(`write ${chunk.length}`),
      seal: async () => ({ sha256: 'x', bytes: 0 }),
      discard: async () => void happened.push('discard'),
    };
    const snapshots = { open: async () => (happened.push('open'), writer) };
    return new SnapshotKeeper({ snapshots, bytesMax } as unknown as KeeperParts);
  };

  const save = (bytesMax: number, cluster: UpgradeCluster = lab.cluster) =>
    keeper(bytesMax).save(cluster, 'demo-1', OWNER, new AbortController().signal);

  it('is refused before anything is kept, where etcd says how large it is', async () => {
    await expect(save(1)).rejects.toThrow(/more than the limit of 1 \(ETCD_SNAPSHOT_MAX_MIB/);
    expect(happened).toEqual([]);
    await save(1024 ** 3);
    expect(happened[0]).toBe('open');
    expect(happened).not.toContain('discard');
  });

  it('is cut off and given up where a node sends more than it said', async () => {
    const lying: UpgradeCluster = Object.assign(Object.create(lab.cluster) as UpgradeCluster, {
      run: async (program: Program): Promise<ProgramEnd> => {
        const end = await lab.cluster.run(program);
        return { ...end, stdout: end.stdout.replaceAll(/"dbSize":\d+/g, `"dbSize":${SAID_BYTES}`) };
      },
    });
    await expect(save(SAID_BYTES, lying)).rejects.toThrow(/more than the limit of 100/);
    expect(happened.at(-1)).toBe('discard');
    const kept = happened.filter((what) => what.startsWith('write ')).map((what) => Number(what.slice(6)));
    expect(kept.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(SAID_BYTES);
  });
});
