import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { startLabCluster, type LabCluster } from '../../../../../libs/kubernetes/test/lab.cluster.js';
import type { ReleaseAt, DesiredRelease } from '../../releases/releases.ports.js';
import { installedHelm } from './helm.fixtures.js';
import { HelmProgram } from './helm.program.js';

const CASE_LIMIT_MS = 60_000;
const { signal } = new AbortController();
const helmPath = installedHelm();

const TEMPLATE = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-settings
data:
  colour: {{ .Values.colour | default "blue" }}
  unused: "{{ .Values.nothing }}"
`;

/** The archive of a chart that this spec makes. */
const chartArchive = (folder: string, template = TEMPLATE): Uint8Array => {
  mkdirSync(join(folder, 'paint', 'templates'), { recursive: true });
  writeFileSync(join(folder, 'paint', 'Chart.yaml'), 'apiVersion: v2\nname: paint\nversion: 1.2.3\n');
  writeFileSync(join(folder, 'paint', 'templates', 'settings.yaml'), template);
  execFileSync('tar', ['-C', folder, '-czf', join(folder, 'paint.tgz'), 'paint']);
  return readFileSync(join(folder, 'paint.tgz'));
};

(helmPath === undefined ? describe.skip : describe)('the real helm in a cluster of the lab', () => {
  const helm = new HelmProgram(helmPath);
  let folder: string;
  let lab: LabCluster;
  let at: ReleaseAt;
  let bytes: Uint8Array;

  const desiredOf = (values: DesiredRelease['values'] = {}): DesiredRelease => ({
    chart: { kind: 'archive', bytes, version: '1.2.3' },
    values,
    waits: true,
  });
  const colour = async (): Promise<unknown> => (await lab.cluster.configMap('paint', 'paint-settings'))?.['colour'];

  beforeAll(async () => {
    folder = newFolder('helm');
    bytes = chartArchive(folder);
    lab = await startLabCluster({ controlPlanes: 1, workers: 1 });
    at = { name: 'paint', namespace: 'paint', kubeconfig: lab.kubeconfig };
  }, CASE_LIMIT_MS);

  afterAll(async () => {
    await lab?.stop();
    removeFolder(folder);
  }, CASE_LIMIT_MS);

  it(
    'installs a chart, changes it by its values, and sees that equal renderings do not differ',
    async () => {
      expect(await helm.status(at, signal)).toBeUndefined();
      await helm.deploy(at, desiredOf(), signal);
      expect(await helm.status(at, signal)).toEqual({ revision: 1, status: 'deployed' });
      expect(await colour()).toBe('blue');
      expect(await helm.differs(at, desiredOf({ colour: 'blue', other: 1 }), signal)).toBe(false);
      expect(await helm.differs(at, desiredOf({ colour: 'red' }), signal)).toBe(true);
      await helm.deploy(at, desiredOf({ colour: 'red' }), signal);
      expect(await helm.status(at, signal)).toEqual({ revision: 2, status: 'deployed' });
      expect(await colour()).toBe('red');
    },
    CASE_LIMIT_MS,
  );

  it(
    'recovers a release that a killed helm has left pending, to what was deployed last',
    async () => {
      // What a helm that is killed during an upgrade leaves: a revision that is pending.
      await helm.deploy(at, desiredOf({ colour: 'green' }), signal);
      await markPending(lab, 'sh.helm.release.v1.paint.v3');
      const pending = await helm.status(at, signal);
      expect(pending).toMatchObject({ revision: 3, status: 'pending-upgrade' });
      await expect(helm.deploy(at, desiredOf(), signal)).rejects.toThrow('another operation');
      await helm.recover(at, pending ?? { revision: 3, status: '' }, signal);
      expect(await helm.status(at, signal)).toEqual({ revision: 4, status: 'deployed' });
      expect(await colour()).toBe('red');
    },
    CASE_LIMIT_MS,
  );

  it(
    'installs objects as they are, prunes those that are left out, and uninstalls all of them',
    async () => {
      const map = (name: string) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
        data: { text: '{{ .Release.Name }}' },
      });
      const objects = (...names: readonly string[]): DesiredRelease => ({
        chart: { kind: 'manifests', manifests: names.map(map), version: '0.0.0' },
        values: {},
        waits: false,
      });
      const own = { ...at, name: 'objects' };
      await helm.deploy(own, objects('one', 'two'), signal);
      expect(await lab.cluster.configMap('paint', 'one')).toEqual({ text: '{{ .Release.Name }}' });
      await helm.deploy(own, objects('two'), signal);
      expect(await lab.cluster.configMap('paint', 'one')).toBeUndefined();
      await helm.uninstall(own, signal);
      expect(await lab.cluster.configMap('paint', 'two')).toBeUndefined();
      await helm.uninstall(own, signal);
    },
    CASE_LIMIT_MS,
  );

  it('fails in the words of helm, with no secret of the kubeconfig in them', async () => {
    const broken = {
      ...desiredOf(),
      chart: { kind: 'archive' as const, bytes: Buffer.from('no chart'), version: '1' },
    };
    const failure = await helm.deploy(at, broken, signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ operation: 'helm upgrade', target: 'paint' });
    expect((failure as Error).message).toContain('chart');
    expect((failure as Error).message).not.toContain('client-key-data');
  });
});

it('without a helm program, an add-on fails with what to do', async () => {
  const at = { name: 'paint', namespace: 'paint', kubeconfig: '' };
  await expect(new HelmProgram(undefined).status(at, signal)).rejects.toThrow('set HELM_PROGRAM');
});

const markPending = async (lab: LabCluster, name: string): Promise<void> => {
  const secret = await lab.client.core.readNamespacedSecret({ namespace: 'paint', name });
  const inner = Buffer.from(Buffer.from(secret.data?.['release'] ?? '', 'base64').toString(), 'base64');
  const release = JSON.parse(gunzipSync(inner).toString()) as { info: { status: string } };
  release.info.status = 'pending-upgrade';
  const encoded = Buffer.from(gzipSync(JSON.stringify(release)).toString('base64')).toString('base64');
  const labels = { ...secret.metadata?.labels, status: 'pending-upgrade' };
  const body = { ...secret, metadata: { ...secret.metadata, labels }, data: { release: encoded } };
  await lab.client.core.replaceNamespacedSecret({ namespace: 'paint', name, body });
};
