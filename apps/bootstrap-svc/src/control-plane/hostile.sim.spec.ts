import type { Fact } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeKubeconfigs } from '../../../../libs/kubernetes/src/kubeconfig.fixtures.js';
import { CALM, Simulation } from '../../test/simulation.js';
import { balanced, cp, created, machinesOf, requested, UID, w } from '../bootstrap/bootstrap.fixtures.js';
import { kubeconfigRef } from '../kubernetes/cluster.access.js';

const folder = newFolder('hostile');
const marker = join(folder, 'executed');
const { genuine, tricks } = await makeKubeconfigs({ marker, elsewhere: 'http://127.0.0.1:1' });
const OTHER_SERVER = genuine.replace('https://198.18.7.1:6443', 'https://203.0.113.7:6443');
const RENEWED_END = '2126-11-01T00:00:00.000Z';

const answers = [
  ...tricks,
  { does: 'the server of another address', text: OTHER_SERVER, says: 'its server is neither https://198.18.7.1:6443' },
].map(({ does, text, says }) => [does, text, says] as const);

const begun = async (): Promise<Simulation> => {
  const simulation = new Simulation(7, CALM);
  await simulation.say('request', requested(1, 1));
  await simulation.say('machines', created(machinesOf(1, 1)), balanced);
  return simulation;
};

const reports = (node: ReturnType<typeof cp>, expiresAt: string): Fact => ({
  type: 'CertificatesReported',
  data: { uid: UID, node, certificates: [{ name: 'admin.conf', expiresAt }] },
});

const said = (simulation: Simulation, type: string): readonly string[] =>
  simulation.store.events.filter((event) => event.type === type).map(({ data }) => JSON.stringify(data));

/**
 * The real code of bootstrap-svc from process to effects; the simulated control plane belongs to an attacker with root
 * access.
 */
describe('a hostile control plane', () => {
  afterAll(() => removeFolder(folder));

  it.each(answers)(
    'that answers kubeadm init with %s has no effect: nothing is sealed, and the step fails with the reason',
    async (_does, text, says) => {
      const simulation = await begun();
      simulation.world.kubeconfig = text;
      await simulation.run();
      const failed = simulation.store.events.find(({ type }) => type === 'ClusterFailed');
      expect(failed?.data).toMatchObject({
        step: 'InitControlPlane',
        node: cp(1),
        cause: {
          operation: 'take the kubeconfig',
          message: expect.stringContaining(`the kubeconfig is refused: `),
        },
      });
      expect(JSON.parse(JSON.stringify(failed?.data))).toMatchObject({
        cause: { message: expect.stringContaining(says) },
      });
      expect(simulation.count('ControlPlaneInitialized')).toBe(0);
      expect(simulation.secrets.values.has(kubeconfigRef(UID))).toBe(false);
      expect(existsSync(marker)).toBe(false);
    },
  );

  it.each([
    ...answers,
    ['the authority of another cluster', genuine, 'its certificate authority is not the one'] as const,
  ])(
    'that answers with %s on a renewal of its certificates does not change the sealed kubeconfig',
    async (_does, text, says) => {
      const simulation = await begun();
      await simulation.run();
      const before = simulation.secrets.values.get(kubeconfigRef(UID));
      simulation.world.renewed = text;
      await simulation.say(`node-${cp(1)}`, reports(cp(1), '2027-01-20T10:00:00.000Z'), reports(cp(1), RENEWED_END));
      await simulation.run();
      expect(said(simulation, 'BootstrapStepFailed').at(-1)).toContain(JSON.stringify(says).slice(1, -1));
      expect(simulation.count('KubeconfigRefreshed')).toBe(0);
      expect(before).toBeDefined();
      expect(simulation.secrets.values.get(kubeconfigRef(UID))).toEqual(before);
    },
  );

  it('that reports a renewal without one is ignored: the sealed certificate is valid for longer', async () => {
    const simulation = await begun();
    await simulation.run();
    simulation.world.renewed = simulation.world.kubeconfig;
    await simulation.say(`node-${cp(1)}`, reports(cp(1), '2027-01-20T10:00:00.000Z'), reports(cp(1), RENEWED_END));
    await simulation.run();
    expect(said(simulation, 'BootstrapStepFailed').at(-1)).toContain('its client certificate ends 2027-01-20T10');
    expect(simulation.count('KubeconfigRefreshed')).toBe(0);
  });

  it('is not a worker: one whose agent reports an admin.conf is never asked for it', async () => {
    const simulation = await begun();
    await simulation.run();
    await simulation.say(`node-${cp(1)}`, reports(cp(1), '2027-01-20T10:00:00.000Z'));
    await simulation.say(`node-${w(1)}`, reports(w(1), RENEWED_END));
    await simulation.run();
    expect(simulation.trace.filter((line) => line.includes('RefreshKubeconfig'))).toEqual([]);
    expect(simulation.world.violations).toEqual([]);
    expect(simulation.count('KubeconfigRefreshed')).toBe(0);
  });

  it('that reports a certificate without an expiry is asked once for it', async () => {
    const simulation = await begun();
    await simulation.run();
    await simulation.say(
      `node-${cp(1)}`,
      reports(cp(1), '2027-01-20T10:00:00.000Z'),
      reports(cp(1), '9999-01-01T00:00:00.000Z'),
    );
    await simulation.run();
    expect(simulation.count('KubeconfigRefreshed')).toBe(1);
    expect(simulation.trace.filter((line) => line.startsWith('start RefreshKubeconfig'))).toHaveLength(1);
  });
});
