import type { SnapshotWriter } from '@fairlead/service-kit/snapshots';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import type { Program, ProgramEnd, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { SnapshotKeeper, type KeeperParts } from './snapshot.keeper.js';

const OWNER = { namespace: 'default', cluster: 'demo', uid: 'u' };
const SAID_BYTES = 100;

describe('snapshots of one cluster', () => {
  let lab: LabCluster;
  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
  });
  afterEach(() => lab.stop());

  /** The stored data of each snapshot, and how many were in progress at most. */
  const kept = () => {
    const chunks = new Map<string, Buffer[]>();
    let [open, most] = [0, 0];
    const snapshots = {
      open: async (name: string): Promise<SnapshotWriter> => {
        open += 1;
        most = Math.max(most, open);
        const mine: Buffer[] = [];
        return {
          write: async (chunk) => void mine.push(chunk),
          seal: async () => {
            open -= 1;
            chunks.set(name, mine);
            return { sha256: 'x', bytes: Buffer.concat(mine).length };
          },
          discard: async () => void (open -= 1),
        };
      },
    };
    const keeper = new SnapshotKeeper({ snapshots, bytesMax: 1024 ** 3 } as unknown as KeeperParts);
    return { keeper, chunks, most: () => most };
  };
  /** It ends with the SHA-256 of its body. */
  const isWhole = (chunks: readonly Buffer[] = []): boolean => {
    const all = Buffer.concat(chunks);
    return createHash('sha256').update(all.subarray(0, -32)).digest().equals(all.subarray(-32));
  };

  it('that are requested at once are all complete, and are taken one after another', async () => {
    const { keeper, chunks, most } = kept();
    const { signal } = new AbortController();
    const names = ['demo-1', 'demo-2', 'demo-3'];
    await Promise.all(names.map((name) => keeper.save(lab.cluster, name, OWNER, signal)));
    expect(names.map((name) => isWhole(chunks.get(name)))).toEqual([true, true, true]);
    expect(most()).toBe(1);
  });

  it('contain the versions of Kubernetes and etcd', async () => {
    const saved = await kept().keeper.save(lab.cluster, 'demo-1', OWNER, new AbortController().signal);
    expect(saved).toMatchObject({ kubernetesVersion: 'v1.33.13', etcdVersion: '3.5.35' });
  });

  it('do not wait for one that fails, nor for one that is aborted before its turn', async () => {
    const { keeper, chunks } = kept();
    const { signal } = new AbortController();
    const failing: UpgradeCluster = Object.assign(Object.create(lab.cluster) as UpgradeCluster, {
      run: async (program: Program): Promise<ProgramEnd> =>
        program.command.includes('save')
          ? { exitCode: 1, stdout: '', stderr: 'no space left' }
          : lab.cluster.run(program),
    });
    const [failed, given, whole] = await Promise.allSettled([
      keeper.save(failing, 'demo-1', OWNER, signal),
      keeper.save(lab.cluster, 'demo-2', OWNER, AbortSignal.abort(new Error('given up'))),
      keeper.save(lab.cluster, 'demo-3', OWNER, signal),
    ]);
    expect([failed.status, given.status, whole.status]).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect([...chunks.keys()]).toEqual(['demo-3']);
  });
});

describe('a snapshot that exceeds the size limit', () => {
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

  it('is refused before anything is stored, if etcd reports its size', async () => {
    await expect(save(1)).rejects.toThrow(/more than the limit of 1 \(ETCD_SNAPSHOT_MAX_MIB/);
    expect(happened).toEqual([]);
    await save(1024 ** 3);
    expect(happened[0]).toBe('open');
    expect(happened).not.toContain('discard');
  });

  it('is aborted if a node sends more than it reported', async () => {
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
