import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { BALANCED, change, desired, ModelHost, OWN, reported, type PowerCut } from './change.fixtures.js';

/** A change with every option. */
const WHOLE = change({ stopApiServerFirst: true });

const LIVES_MAX = 30;
const SEEDS = 100;

/** Restarts the agent after each power failure until the change is done, and returns the host. */
const liveThrough = async (cuts: readonly (PowerCut | undefined)[], host = new ModelHost()): Promise<ModelHost> => {
  const target = desired({ change: WHOLE });
  const nothing = (): Promise<void> => Promise.resolve();
  for (let life = 0; life < LIVES_MAX; life += 1) {
    host.powerOn(cuts[life]);
    const changes = host.changes();
    const isDone = changes.ensure(target, host.bootId, nothing).then(() => true);
    if (await Promise.race([isDone, host.off.then(() => false)])) return host;
  }
  throw new Error(`not done in ${LIVES_MAX} lives: ${host.commands.join('; ')}`);
};

/** How many operations each life has without a power failure: the first ends with the boot that it requests. */
const lengths = async (host = new ModelHost()): Promise<readonly number[]> => {
  host.powerOn();
  void host.changes().ensure(desired({ change: WHOLE }), host.bootId, () => Promise.resolve());
  await host.off;
  const first = host.operations;
  host.powerOn();
  await host.changes().ensure(desired({ change: WHOLE }), host.bootId, () => Promise.resolve());
  return [first, host.operations];
};

const check = (host: ModelHost): void => {
  // The boot was requested once, regardless of the failures.
  expect(host.boots).toBe(2);
  expect(host.commands.filter((line) => line === 'systemctl reboot').length).toBeLessThanOrEqual(1);
  // The kubelet uses the balanced address only while it is as old as every API server (A), and its own at the end.
  expect(host.kubelets.filter((one) => one.startsWith(`1.34.4 at ${BALANCED}`))).toEqual([]);
  expect(host.server).toBe(OWN);
  // Every static pod has its manifest, and super-admin.conf is gone.
  expect(host.manifests.length).toBe(4);
  expect(host.files.has('/etc/kubernetes/super-admin.conf')).toBe(false);
  expect(host.versions.get('kubelet')).toBe('1.34.4');
  for (const phase of ['stage', 'kubeadm', 'kubelet', 'runtime', 'certificates', 'reboot'])
    expect(reported(host.facts).findLast((line) => line.startsWith(`${phase} `))).toMatch(/ done /);
};

/** kubeadm replaces static pods only while the kubelet can delete stopped ones. */
const checkKubeadmWorks = ({ commands }: ModelHost): void => {
  for (const line of commands.filter((one) => one.startsWith('kubeadm upgrade'))) expect(line).toContain(BALANCED);
};

describe('a change with power failures', () => {
  it('completes, with one boot, wherever a single failure occurs [Cluster API 28]', async () => {
    const [first = 0, second = 0] = await lengths();
    expect(first).toBeGreaterThan(30);
    for (const when of ['before', 'after'] as const) {
      const cuts = [
        ...Array.from({ length: first }, (_, at) => [{ at: at + 1, when }]),
        ...Array.from({ length: second }, (_, at) => [undefined, { at: at + 1, when }]),
      ];
      for (const cut of cuts) {
        const host = await liveThrough(cut);
        check(host);
        checkKubeadmWorks(host);
      }
    }
  });

  it('completes when the agent replaces the static pods, wherever a single failure occurs', async () => {
    const [first = 0] = await lengths(new ModelHost().asByKubeadm);
    expect(first).toBeGreaterThan(60);
    for (const when of ['before', 'after'] as const)
      for (let at = 1; at <= first; at += 1) {
        const host = await liveThrough([{ at, when }], new ModelHost().asByKubeadm);
        check(host);
        for (const name of host.manifests)
          expect(host.files.get(`/etc/kubernetes/manifests/${name}.yaml`)).toContain(`${name}:v1.34.4`);
      }
  });

  it.each(Array.from({ length: SEEDS }, (_, seed) => seed))('completes after many failures (seed %d)', async (seed) => {
    const random = seededRandom(seed);
    // A phase is abandoned after three attempts per revision, so no phase is interrupted more often.
    const cuts = [1, 2].map((_): PowerCut => ({
      at: 1 + Math.floor(random() * 40),
      when: random() < 0.5 ? 'before' : 'after',
    }));
    check(await liveThrough(cuts));
  });

  it('fails this simulation if its record is lost', async () => {
    const [first = 0] = await lengths();
    const forgetful = async (at: number): Promise<number> => {
      const host = new ModelHost();
      host.powerOn({ at, when: 'after' });
      void host.changes().ensure(desired({ change: WHOLE }), host.bootId, () => Promise.resolve());
      await host.off;
      host.files.delete('/var/lib/fairlead/change.json');
      host.powerOn();
      const isDone = host.changes().ensure(desired({ change: WHOLE }), host.bootId, () => Promise.resolve());
      await Promise.race([isDone, host.off]);
      return host.boots;
    };
    expect(await forgetful(first)).toBe(3);
  });
});
