import type { ApplicationView, ClusterManifestView, EventType, StoredEvent } from '@fairlead/contracts';
import { findHelm } from '@fairlead/mirror';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { ChartRegistry } from '../apps/infra-svc/src/adapters/helm/chart.registry.fixtures.js';
import { archiveOf, ChartServer } from '../apps/infra-svc/src/adapters/helm/chart.server.fixtures.js';
import { findKubectl } from './system/kubectl.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 240_000;
const EVENT_WITHIN_MS = 60_000;
const PATH = '/ns/default/clusters/shop';
const machines = { connection: 'lab', machineType: 'lab.medium' };
const helm = findHelm(process.env);
if (helm === undefined)
  process.stderr.write('NOT CHECKED: there is no helm on this machine; "npm run helm:build" builds it with Go\n');

const chartOf = (version: string): Promise<Buffer> =>
  archiveOf({
    'grafana/Chart.yaml': `apiVersion: v2\nname: grafana\nversion: ${version}\n`,
    'grafana/templates/settings.yaml': [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata: { name: {{ .Release.Name }}-settings }',
      'data: { colour: {{ .Values.colour | default "blue" | quote }}, lock: {{ .Values.lock | default "none" | sha256sum | quote }} }',
      '{{- if .Values.broken }}{{ fail (printf "the colour is not known, the lock is %s" .Values.lock) }}{{ end }}',
      '',
    ].join('\n'),
  });

interface Declared {
  readonly name: string;
  readonly [field: string]: unknown;
}

const FIRST: Declared = {
  name: 'first',
  class: 'bootstrap',
  manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first' }, data: { text: '{{ kept }}' } }],
};
const paint = (values: object, others: object = {}): Declared => ({
  ...{ name: 'paint', application: 'paint', version: '1.0.0', namespace: 'art', dependsOn: ['first'], values },
  ...others,
});

const manifest = (...addons: readonly Declared[]) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
    addons,
  },
});

/** The whole product in the lab, a simulation, with the real helm and a chart of this story. */
(helm === undefined ? describe.skip : describe)('the add-ons of a cluster', () => {
  const repository = new ChartServer();
  const folder = newFolder('addons');
  let system: System;

  const lastSeq = async (): Promise<number> => (await system.events('shop')).at(-1)?.meta.seq ?? 0;
  const until = <T extends EventType>(type: T, after: number, addon?: string): Promise<StoredEvent<T>> =>
    system.until(
      'shop',
      ({ type: found, meta, data }) =>
        found === type && meta.seq > after && (addon === undefined || ('addon' in data && data.addon === addon)),
      EVENT_WITHIN_MS,
    ) as Promise<StoredEvent<T>>;
  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const declare = async (...addons: readonly Declared[]): Promise<number> => {
    const before = await lastSeq();
    const { status, body } = await system.call('PUT', `${PATH}/manifest`, manifest(...addons));
    expect([status < 300, body]).toMatchObject([true, {}]);
    return before;
  };
  const shown = async (): Promise<NonNullable<ClusterManifestView['status']>> =>
    (await system.call<ClusterManifestView>('GET', `${PATH}/manifest?minSeq=${await lastSeq()}`)).body.status!;
  const kubectled = async (...args: readonly string[]): Promise<string> => {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, await fairlead('kubeconfig', 'shop'), { mode: 0o600 });
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    return (await run(await findKubectl(), [...args], { env, timeout: 60_000 })).stdout;
  };
  const helmed = async (...args: readonly string[]): Promise<string> => {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, await fairlead('kubeconfig', 'shop'), { mode: 0o600 });
    const env = { HOME: folder, PATH: '/usr/bin:/bin', KUBECONFIG: kubeconfig };
    return (await run(helm ?? '', [...args], { env, timeout: 60_000 })).stdout;
  };

  beforeAll(async () => {
    await repository.start();
    repository.publish({ '1.0.0': await chartOf('1.0.0') });
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, repository.ca);
    const env = { CATALOGUE_ADDRESSES_ALLOWED: '127.0.0.0/8', ADDONS_INTERVAL_MS: '1000' };
    system = await startSystem({ light: true, env });
    const source = ['--repository', repository.url, '--repository-ca-file', ca, '--chart', 'grafana'];
    const registered = await fairlead('application', 'register', 'paint', ...source, '--versions', '1.x', '-o', 'json');
    expect((JSON.parse(registered) as ApplicationView).state).toBe('Synchronized');
  }, TIMEOUT_MS);
  afterAll(async () => {
    await system?.stop();
    await repository.stop();
    removeFolder(folder);
  }, TIMEOUT_MS);

  it(
    'of class bootstrap are installed once the control plane is initialized, and others once the cluster is Ready [azimuth 19]',
    async () => {
      await declare(FIRST, paint({ colour: 'red' }));
      await until('AddonDeployed', 0, 'paint');
      const seqOf = async (type: EventType, addon?: string): Promise<number> => (await until(type, 0, addon)).meta.seq;
      const order = [
        await seqOf('ControlPlaneInitialized'),
        await seqOf('AddonInstalling', 'first'),
        await seqOf('AddonDeployed', 'first'),
        await seqOf('AddonInstalling', 'paint'),
        await seqOf('AddonDeployed', 'paint'),
      ];
      expect(order).toEqual(order.toSorted((one, other) => one - other));
      expect(await seqOf('AddonInstalling', 'paint')).toBeGreaterThan(await seqOf('ClusterReady'));
      expect(await helmed('get', 'manifest', 'paint', '-n', 'art')).toContain('colour: "red"');
      expect(await fairlead('cluster', 'describe', 'shop')).toContain('paint 1.0.0 (revision 1): Deployed');
    },
    TIMEOUT_MS,
  );

  it(
    'are upgraded when their values change, and not by values that render the same objects [azimuth 20, azimuth 35]',
    async () => {
      const before = await declare(FIRST, paint({ colour: 'green' }));
      expect((await until('AddonDeployed', before, 'paint')).data.revision).toBe(2);
      const again = await declare(FIRST, paint({ colour: 'green', unused: 1 }));
      expect((await until('AddonDeployed', again, 'paint')).data.revision).toBe(2);
    },
    TIMEOUT_MS,
  );

  it(
    'are detected and installed again if they were deleted outside Fairlead [azimuth 27]',
    async () => {
      const before = await lastSeq();
      await helmed('uninstall', 'paint', '-n', 'art');
      expect((await until('AddonDrifted', before, 'paint')).data).toMatchObject({
        problems: ['there is no release paint in art'],
        repair: true,
      });
      await until('AddonDeployed', before, 'paint');
      expect(await helmed('get', 'manifest', 'paint', '-n', 'art')).toContain('colour: "green"');
    },
    TIMEOUT_MS,
  );

  it(
    'make the cluster Degraded with their name if they fail, and never Failed [azimuth 20]',
    async () => {
      const before = await declare(FIRST, paint({ broken: true }));
      expect((await until('AddonFailed', before, 'paint')).data.cause.message).toContain('the colour is not known');
      const status = await eventually(shown, ({ state }) => state === 'Degraded', { withinMs: TIMEOUT_MS });
      expect(status.phase).toBe('Provisioned');
      expect(status.conditions.find(({ type }) => type === 'AddonsHealthy')?.message).toContain('paint');
      const corrected = await declare(FIRST, paint({ colour: 'green' }));
      await until('AddonDeployed', corrected, 'paint');
      await eventually(shown, ({ state }) => state === 'Running', { withinMs: TIMEOUT_MS });
    },
    TIMEOUT_MS,
  );

  it(
    'of class bootstrap are installed before the cluster is Ready, and no add-on of class normal is started before [azimuth 19]',
    async () => {
      const events = await system.events('shop');
      const ready = events.find(({ type }) => type === 'ClusterReady')?.meta.seq ?? 0;
      const initialized = events.find(({ type }) => type === 'ControlPlaneInitialized')?.meta.seq ?? 0;
      const begun = events.filter(({ type }) => type === 'AddonInstalling');
      const seqs = (addon: string): readonly number[] =>
        begun.filter(({ data }) => 'addon' in data && data.addon === addon).map(({ meta }) => meta.seq);
      expect(seqs('first').every((seq) => seq > initialized)).toBe(true);
      expect(Math.min(...seqs('first'))).toBeLessThan(ready);
      expect(Math.min(...seqs('paint'))).toBeGreaterThan(ready);
    },
    TIMEOUT_MS,
  );

  it(
    'are repaired or only reported if their objects were changed or deleted behind Helm and Fairlead [azimuth 27]',
    async () => {
      const before = await declare(FIRST, paint({ colour: 'green' }, { policy: 'report' }));
      await until('AddonDeployed', before, 'paint');
      await kubectled('delete', 'configmap', 'paint-settings', '-n', 'art');
      await kubectled('delete', 'configmap', 'first');
      expect((await until('AddonDrifted', before, 'first')).data).toMatchObject({
        problems: ['ConfigMap default/first does not exist'],
        repair: true,
      });
      await until('AddonDeployed', before, 'first');
      expect((await until('AddonDrifted', before, 'paint')).data).toMatchObject({
        problems: ['ConfigMap art/paint-settings does not exist'],
        repair: false,
      });
      const status = await eventually(shown, ({ state }) => state === 'Degraded', { withinMs: TIMEOUT_MS });
      expect(status.conditions.find(({ type }) => type === 'AddonsHealthy')?.message).toContain('paint-settings');
      const repaired = await declare(FIRST, paint({ colour: 'green' }));
      await until('AddonDeployed', repaired, 'paint');
      await eventually(shown, ({ state }) => state === 'Running', { withinMs: TIMEOUT_MS });
      expect(await helmed('get', 'manifest', 'paint', '-n', 'art')).toContain('paint-settings');
      await eventually(
        () => kubectled('get', 'configmap', 'paint-settings', '-n', 'art', '--ignore-not-found', '-o', 'name'),
        (found) => found === 'configmap/paint-settings\n',
        { withinMs: TIMEOUT_MS },
      );
    },
    TIMEOUT_MS,
  );

  it(
    'use sealed values, which appear in no event, log, response or failure; setting them again upgrades the release',
    async () => {
      const seal = async (lock: string): Promise<void> => {
        const file = join(folder, 'sealed.yaml');
        writeFileSync(file, `lock: ${lock}\n`);
        await fairlead('addon', 'set-secret', 'locks', '--values-file', file);
      };
      await seal('open-sesame-1');
      const locked = { valuesFrom: [{ secretName: 'locks' }] };
      const before = await declare(FIRST, paint({ colour: 'green' }, locked));
      const first = (await until('AddonDeployed', before, 'paint')).data;
      expect(Object.keys(first.secrets ?? {})).toEqual(['locks']);
      const sealed = await lastSeq();
      await seal('open-sesame-2');
      const second = (await until('AddonDeployed', sealed, 'paint')).data;
      expect(second.revision).toBe(first.revision + 1);
      expect(await helmed('get', 'values', 'paint', '-n', 'art')).toContain('open-sesame-2');

      const broken = await declare(FIRST, paint({ broken: true }, locked));
      const failed = (await until('AddonFailed', broken, 'paint')).data;
      expect(failed.cause.message).toContain('the lock is [sealed]');
      expect(await fairlead('addon', 'show', 'shop', 'paint')).toContain('[sealed]');
      const folderOfLogs = join(system.environment.dataDir, 'logs');
      const logs = readdirSync(folderOfLogs).map((one) => readFileSync(join(folderOfLogs, one), 'utf8'));
      const said = [
        ...(await system.events('shop')).map((event) => JSON.stringify(event)),
        ...[await fairlead('addon', 'list-secrets', '-o', 'json'), await fairlead('export', 'shop'), ...logs],
      ];
      expect(said.filter((text) => text.includes('open-sesame'))).toEqual([]);
      await until('AddonDeployed', await declare(FIRST, paint({ colour: 'green' })), 'paint');
    },
    TIMEOUT_MS,
  );

  it(
    'are installed from a chart of a private repository or registry, whose credentials are sealed',
    async () => {
      const registry = new ChartRegistry();
      await registry.start();
      registry.user = { username: 'ada', password: 'open-sesame' };
      registry.put('charts/grafana', '1.0.0', await chartOf('1.0.0'));
      const file = join(folder, 'registry.yaml');
      writeFileSync(file, 'username: ada\npassword: open-sesame\n');
      await fairlead('addon', 'set-secret', 'registry', '--values-file', file);
      const chart = {
        ...{ repository: `oci://${registry.host}/charts`, name: 'grafana', ca: registry.ca },
        credentialsSecretName: 'registry',
      };
      const pulled: Declared = { name: 'pulled', chart, version: '1.0.0', namespace: 'art' };
      const before = await declare(FIRST, paint({ colour: 'green' }), pulled);
      expect((await until('AddonDeployed', before, 'pulled')).data).toMatchObject({ version: '1.0.0', revision: 1 });
      expect(await helmed('get', 'manifest', 'pulled', '-n', 'art')).toContain('colour: "blue"');
      await until('AddonUninstalled', await declare(FIRST, paint({ colour: 'green' })), 'pulled');
      await registry.stop();
    },
    TIMEOUT_MS,
  );

  it(
    'are installed from the catalogue by one command, and listed for people and programs',
    async () => {
      const before = await lastSeq();
      const options = ['--name', 'second', '--into', 'art', '--yes', '--no-wait'];
      await fairlead('application', 'install', 'paint', 'shop', ...options);
      await until('AddonDeployed', before, 'second');
      expect(await fairlead('addon', 'list', 'shop')).toMatch(/^second +Deployed +1\.0\.0/mu);
      expect(JSON.parse(await fairlead('addon', 'show', 'shop', 'second', '-o', 'json'))).toMatchObject({
        ...{ name: 'second', phase: 'Deployed', revision: 1 },
        declared: { application: 'paint', version: '1.0.0', namespace: 'art' },
      });
      await until('AddonUninstalled', await declare(FIRST, paint({ colour: 'green' })), 'second');
    },
    TIMEOUT_MS,
  );

  it(
    'are uninstalled when they are no longer declared, despite kill -9 of bootstrap-svc [azimuth 20]',
    async () => {
      const before = await declare(FIRST);
      system.kill('bootstrap-svc');
      await until('AddonUninstalled', before, 'paint');
      expect(await helmed('list', '-A', '-q')).toBe('');
      expect((await shown()).addons?.map(({ name }) => name)).not.toContain('paint');
    },
    TIMEOUT_MS,
  );
});
