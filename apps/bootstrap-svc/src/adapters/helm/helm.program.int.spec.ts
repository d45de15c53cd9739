import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { startLabCluster, type LabCluster } from '../../../../../libs/kubernetes/test/lab.cluster.js';
import type { ReleaseAt, DesiredRelease } from '../../releases/releases.ports.js';
import { sealedTexts } from '../../releases/releases.values.js';
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

/** The archive of this spec's own chart. */
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
    source: { kind: 'archive', bytes, version: '1.2.3' },
    values,
    setBy: {},
    sealed: [],
    waits: true,
  });
  const colour = async (): Promise<unknown> => (await lab.cluster.configMap('paint', 'paint-settings'))?.['colour'];

  beforeAll(async () => {
    folder = newFolder('helm');
    bytes = chartArchive(folder);
    lab = await startLabCluster({ controlPlanes: 1, workers: 1 });
    at = { name: 'paint', namespace: 'paint', kubeconfig: lab.kubeconfig, api: lab.cluster };
  }, CASE_LIMIT_MS);

  afterAll(async () => {
    await lab?.stop();
    removeFolder(folder);
  }, CASE_LIMIT_MS);

  it(
    'installs a chart, upgrades it with new values, and finds no difference between equal renderings',
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
    'recovers a release that a killed helm left pending, with the last deployed revision',
    async () => {
      // A helm that is killed during an upgrade leaves a pending revision.
      await helm.deploy(at, desiredOf({ colour: 'green' }), signal);
      await markPending(lab, 'sh.helm.release.v1.paint.v3');
      const pending = await helm.status(at, signal);
      expect(pending).toMatchObject({ revision: 3, status: 'pending-upgrade' });
      await expect(helm.deploy(at, desiredOf(), signal)).rejects.toThrow('another operation');
      await helm.recover(at, signal);
      expect(await helm.status(at, signal)).toEqual({ revision: 4, status: 'deployed' });
      expect(await colour()).toBe('red');
    },
    CASE_LIMIT_MS,
  );

  it(
    'detects objects of a release that others deleted or changed, and only those [azimuth 27]',
    async () => {
      expect(await helm.drift(at, [], signal)).toEqual([]);
      const name = 'paint-settings';
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { colour: 'pink', unused: '' } };
      await lab.client.core.replaceNamespacedConfigMap({ namespace: 'paint', name, body });
      expect(await helm.drift(at, [], signal)).toEqual(['ConfigMap paint/paint-settings differs in data.colour']);
      await lab.client.core.deleteNamespacedConfigMap({ namespace: 'paint', name });
      expect(await helm.drift(at, [], signal)).toEqual(['ConfigMap paint/paint-settings does not exist']);
      await helm.deploy(at, desiredOf({ colour: 'red' }), signal);
      expect(await helm.drift(at, [], signal)).toEqual([]);
    },
    CASE_LIMIT_MS,
  );

  it('fails without sealed values in its message', async () => {
    const spoken = chartArchive(newFolder('spoken'), '{{ fail (printf "the password is %s" .Values.password) }}');
    const desired = { ...desiredOf({ password: 'open sesame' }), sealed: sealedTexts({ password: 'open sesame' }) };
    const source = { kind: 'archive' as const, bytes: spoken, version: '1' };
    const failure = await helm.deploy({ ...at, name: 'spoken' }, { ...desired, source }, signal).catch(String);
    expect(failure).toContain('the password is [sealed]');
    expect(failure).not.toContain('sesame');
  });

  it("fails with helm's message, without secrets of the kubeconfig", async () => {
    const broken = {
      ...desiredOf(),
      source: { kind: 'archive' as const, bytes: Buffer.from('no chart'), version: '1' },
    };
    const failure = await helm.deploy(at, broken, signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ operation: 'helm upgrade', target: 'paint' });
    expect((failure as Error).message).toContain('chart');
    expect((failure as Error).message).not.toContain('client-key-data');
  });
});

it('without a helm program, an add-on fails with a remedy', async () => {
  const at = { name: 'paint', namespace: 'paint', kubeconfig: '', api: {} as ReleaseAt['api'] };
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
