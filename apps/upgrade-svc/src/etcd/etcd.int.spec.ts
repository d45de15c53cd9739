import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ExternalFailure } from '@fairlead/contracts';
import { controlPlane, startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import type { EtcdFacts } from '../rules/cluster.facts.js';
import type { Program, ProgramEnd, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { Etcd } from './etcd.effects.js';

describe('etcd, through its own containers', () => {
  let lab: LabCluster;
  let etcd: Etcd;
  const facts = async (): Promise<EtcdFacts> => etcd.facts(await lab.cluster.nodes());

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
    etcd = new Etcd(lab.cluster, new AbortController().signal);
  });
  afterEach(() => lab.stop());

  it('shows members, versions, the leader and that all are healthy', async () => {
    const { members, alarms } = await facts();
    expect(members.map(({ node, healthy, learner, version }) => [node, healthy, learner, version])).toEqual(
      [1, 2, 3].map((index) => [controlPlane(index), true, false, '3.5.35']),
    );
    expect(members.filter(({ leader }) => leader).map(({ name }) => name)).toEqual([controlPlane(1)]);
    expect(alarms).toEqual([]);
  });

  it('shows a member that is down, a learner, one that lags, and alarms', async () => {
    lab.simulated.etcd.set(controlPlane(2), { running: false });
    lab.simulated.etcd.set(controlPlane(3), { behind: 5_000, alarm: 'NOSPACE' });
    const { members, alarms } = await facts();
    expect(members.find(({ name }) => name === controlPlane(2))).toMatchObject({ healthy: false, version: '' });
    expect(members.find(({ name }) => name === controlPlane(3))).toMatchObject({ healthy: true, behind: 5_000 });
    expect(alarms).toEqual([{ member: controlPlane(3), alarm: 'NOSPACE' }]);
    lab.simulated.etcd.set(controlPlane(3), { learner: true, alarm: null, running: true });
  });

  it('moves leadership, idempotently', async () => {
    const { members } = await facts();
    const to = members.find(({ name }) => name === controlPlane(3));
    await etcd.moveLeader(controlPlane(1), to!.id);
    expect((await facts()).members.find(({ leader }) => leader)?.name).toBe(controlPlane(3));
    await expect(etcd.moveLeader(controlPlane(1), to!.id)).rejects.toMatchObject({
      operation: `etcdctl move-leader ${to!.id}`,
      message: expect.stringContaining('no leader endpoint given'),
    });
  });

  it('is saved next to a member that does not lead, and verified while it is streamed', async () => {
    const chunks: Buffer[] = [];
    const taken = await etcd.snapshot(await facts(), async (chunk) => void chunks.push(chunk));
    expect(taken.node).not.toBe(controlPlane(1));
    expect(taken.totalSize).toBe(Buffer.concat(chunks).length - 32);
    expect(taken.totalKey).toBeGreaterThan(10);
  });

  it.each([
    ['whose save fails after it wrote', 'no space left on device'],
    ['that is aborted while it is handed over', 'the service stops'],
  ])('leaves nothing of a snapshot on the disk %s', async (_title, words) => {
    const aborting = new AbortController();
    let saved: Program | undefined;
    const cluster: UpgradeCluster = Object.assign(Object.create(lab.cluster) as UpgradeCluster, {
      run: async (program: Program): Promise<ProgramEnd> => {
        const end = await lab.cluster.run(program);
        if (!program.command.includes('save')) return end;
        saved = program;
        if (words.startsWith('no space')) return { exitCode: 1, stdout: '', stderr: words };
        aborting.abort(new Error(words));
        return end;
      },
    });
    const saving = new Etcd(cluster, aborting.signal).snapshot(await facts(), async () => undefined);
    await expect(saving).rejects.toThrow(words);
    const file = saved?.command.at(-1) ?? '';
    const { signal } = new AbortController();
    const read = { pod: saved?.pod ?? '', namespace: 'kube-system', container: 'etcd', signal };
    expect(await lab.cluster.run({ ...read, command: ['cp', file, '/dev/stdout'] })).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
  });

  it('is saved to a file of this process alone, after truncating that of a killed one', async () => {
    const commands: (readonly string[])[] = [];
    const cluster: UpgradeCluster = Object.assign(Object.create(lab.cluster) as UpgradeCluster, {
      run: (program: Program): Promise<ProgramEnd> => {
        commands.push(program.command);
        return lab.cluster.run(program);
      },
    });
    const { signal } = new AbortController();
    const { node } = await new Etcd(cluster, signal).snapshot(await facts(), async () => undefined);
    const file = commands.find((command) => command.includes('save'))?.at(-1) ?? '';
    expect(file).toMatch(/^\/fairlead-snapshot-[0-9a-f]{8}\.db$/);
    const at = { pod: `etcd-${node}`, namespace: 'kube-system', container: 'etcd', signal };
    const left = '/fairlead-snapshot-0badc0de.db';
    await lab.cluster.run({ ...at, command: ['etcdctl', 'snapshot', 'save', left] });
    const read = async (): Promise<number> =>
      (await lab.cluster.run({ ...at, command: ['cp', left, '/dev/stdout'] })).stdout.length;
    expect(await read()).toBeGreaterThan(0);
    await new Etcd(cluster, signal).snapshot(await facts(), async () => undefined);
    expect(await read()).toBe(0);
  });

  it('fails with the error of etcd if it has no quorum', async () => {
    for (const index of [2, 3]) lab.simulated.etcd.set(controlPlane(index), { running: false });
    await expect(facts()).rejects.toBeInstanceOf(ExternalFailure);
  });
});
