import { X509Certificate } from 'node:crypto';
import type { Fact, KubernetesUser } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { CALM, ROUGH, Simulation } from '../../test/simulation.js';
import { balanced, created, machinesOf, requested, UID } from '../bootstrap/bootstrap.fixtures.js';
import { readerRef } from '../kubernetes/cluster.access.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 40);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);
const ALICE = 'fairlead:token:a11ce' as KubernetesUser;
const BOB = 'fairlead:token:b0b' as KubernetesUser;
const REQUESTS = [
  ['00000000-0000-4000-8000-0000000000a1', ALICE],
  ['00000000-0000-4000-8000-0000000000b1', BOB],
  ['00000000-0000-4000-8000-0000000000a2', ALICE],
] as const;

const asked = (requestId: string, user: KubernetesUser): Fact => ({
  type: 'KubeconfigRequested',
  data: { uid: UID, requestId, user, ttlSeconds: 3_600 },
});

const initialized = async (seed: number): Promise<Simulation> => {
  const simulation = new Simulation(seed, CALM);
  await simulation.say('request', requested(1, 0));
  await simulation.say('machines', created(machinesOf(1, 0)), balanced);
  await simulation.run();
  return simulation;
};

const sealedReaders = ({ secrets }: Simulation): readonly string[] =>
  [...secrets.values.keys()].filter((ref) => ref.startsWith('bootstrap-svc.reader.'));

const certificateIn = (kubeconfig: string): X509Certificate =>
  new X509Certificate(Buffer.from(/client-certificate-data: (\S+)/.exec(kubeconfig)?.[1] ?? '', 'base64'));

/** The real code of bootstrap-svc from process to effects, with late and duplicate jobs, lost answers and crashes. */
describe("operators' kubeconfigs with reordering and crashes", () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'seed %i: each request is answered once, the last kubeconfig of each operator is sealed, and the log contains no key',
    async (seed) => {
      const simulation = await initialized(seed);
      simulation.troubles = ROUGH;
      for (const [requestId, user] of REQUESTS) {
        await simulation.say('audit', asked(requestId, user));
        await simulation.run();
      }
      const answers = simulation.store.events.filter(
        ({ type }) => type === 'KubeconfigIssued' || type === 'KubeconfigNotIssued',
      );
      const answered = answers.map(({ data }) => ('requestId' in data ? data.requestId : ''));
      expect([seed, answered]).toEqual([seed, REQUESTS.map(([requestId]) => requestId)]);
      const last = new Map<string, string>();
      for (const event of answers)
        if (event.type === 'KubeconfigIssued') last.set(event.data.user, event.data.requestId);
      expect([seed, new Set(sealedReaders(simulation))]).toEqual([seed, new Set([...last.values()].map(readerRef))]);
      const log = JSON.stringify(simulation.store.events);
      for (const [user, requestId] of last) {
        const text = simulation.secrets.values.get(readerRef(requestId))?.value ?? '';
        expect(certificateIn(text).subject).toBe(`O=fairlead:operators\nCN=${user}`);
        expect(log).not.toContain(/client-key-data: (\S+)/.exec(text)?.[1]);
      }
    },
  );

  it('expire with their certificates', async () => {
    const simulation = await initialized(7);
    for (const [requestId, user] of REQUESTS) await simulation.say('audit', asked(requestId, user));
    await simulation.run();
    expect(sealedReaders(simulation)).toHaveLength(2);
    simulation.fireTimers();
    await simulation.run();
    expect(sealedReaders(simulation)).toEqual([]);
    expect(simulation.count('KubeconfigRemoved')).toBe(3);
  });

  it('are answered with the error of a cluster that does not sign', async () => {
    const simulation = await initialized(7);
    simulation.world.failing.set('sign', 'connect ECONNREFUSED 198.18.7.1:6443');
    await simulation.say('audit', asked(...REQUESTS[0]));
    await simulation.run();
    expect(simulation.store.events.at(-1)).toMatchObject({
      type: 'KubeconfigNotIssued',
      data: { user: ALICE, cause: { message: 'connect ECONNREFUSED 198.18.7.1:6443' } },
    });
    expect(sealedReaders(simulation)).toEqual([]);
  });

  it('are not created after the deletion of the cluster was requested', async () => {
    const simulation = await initialized(7);
    await simulation.say('audit', asked(...REQUESTS[0]));
    await simulation.say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
    await simulation.run();
    expect(simulation.count('KubeconfigIssued')).toBe(0);
    expect(sealedReaders(simulation)).toEqual([]);
  });
});
