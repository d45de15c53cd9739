import { SERVICES } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  CHART,
  environmentIn,
  helm,
  IMAGE,
  NAMESPACE,
  OFFLINE,
  podsOf,
  RELEASE,
  rendered,
  runHelm,
  type Container,
} from './system/chart.js';
import { interpolated, serviceOf } from './system/compose.file.js';

const PROGRAMS = [...SERVICES, 'revoker', 'tunnel'];
const PUBLISHED = ['--set', 'publish.domain=clusters.example.com'];
const OWN_POSTGRES = ['--set', 'postgres.enabled=false', '--set', 'postgres.existingSecret=database'];
const GIBIBYTES: Readonly<Record<string, string>> = { '1g': '1Gi', '2g': '2Gi', '4g': '4Gi' };

/** Only Compose has these: its volumes lie on one disk, and it has bundles and machines that join by themselves. */
const ONLY_IN_COMPOSE = ['NATS_STORE_DIR', 'SOFTWARE_BUNDLES', 'AUTOSCALER_LISTEN'];
/** Only the chart has these: its replicas of the tunnel reach each other. */
const ONLY_IN_CHART = ['TUNNEL_PEER_PORT'];

const containersOf = (...args: readonly string[]): readonly (readonly [string, Container])[] =>
  [...podsOf(rendered(...args))].flatMap(([name, { initContainers = [], containers }]) =>
    [...initContainers, ...containers].map((container) => [name, container] as const),
  );

const only = (name: string, ...args: readonly string[]): Container => {
  const found = podsOf(rendered(...args)).get(name)?.containers[0];
  if (found === undefined) throw new Error(`the chart has no ${name}`);
  return found;
};

/** As Compose sets it if no variable is set, with the names that servers have in the chart. */
const inCompose = (name: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(serviceOf(name).environment ?? {}).flatMap(([key, value]) => {
      const text = interpolated(String(value))
        .replace('//nats:4222', `//${RELEASE}-nats:4222`)
        .replace('//nats:8222', `//${RELEASE}-nats-peers:8222`);
      return text === '' || ONLY_IN_COMPOSE.includes(key) ? [] : [[key, text]];
    }),
  );

const without = (record: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));

(helm === undefined ? describe.skip : describe)('the chart of Fairlead', () => {
  it('has no fault that helm finds', () => {
    const { code, stdout } = runHelm(['lint', CHART, '--strict', ...OFFLINE, ...IMAGE, ...PUBLISHED]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  it('has a Deployment for every service, the revoker and, where clusters are published, the tunnel', () => {
    const deployments = (...args: readonly string[]): readonly string[] =>
      [...podsOf(rendered(...args)).keys()].filter((name) => name.startsWith('Deployment/')).sort();
    const all = PROGRAMS.map((name) => `Deployment/${name}`).sort();
    expect(deployments(...PUBLISHED)).toEqual(all);
    expect(deployments()).toEqual(all.filter((name) => name !== 'Deployment/tunnel'));
  });

  it.each(PROGRAMS)('gives %s the command, the settings and the memory that Compose gives it', (name) => {
    const container = only(`Deployment/${name}`, ...PUBLISHED);
    expect(container.args).toEqual(serviceOf(name).command);
    const { PUBLISH_DOMAIN: domain, ...settings } = environmentIn(container);
    expect(without(settings, ONLY_IN_CHART)).toEqual({
      ...inCompose(name),
      // Compose leaves the format of the logs of the revoker and the tunnel to them.
      LOG_FORMAT: 'json',
    });
    expect(domain).toBe(['gateway', 'infra-svc'].includes(name) ? 'clusters.example.com' : undefined);
    expect(container.resources.limits.memory).toBe(GIBIBYTES[serviceOf(name).mem_limit ?? '']);
  });

  it('runs the servers that Compose runs, by digest', () => {
    for (const name of ['nats', 'postgres']) {
      expect(only(`StatefulSet/${name}`).image).toBe(serviceOf(name).image);
      expect(serviceOf(name).image).toMatch(/@sha256:[0-9a-f]{64}$/);
    }
  });

  it('provisions as Compose does, and hands out Secrets: those of the servers before the stores are made', () => {
    const { initContainers = [], containers } = podsOf(rendered()).get('Job/provision-1')!;
    const [keys, early, stores] = initContainers.map(({ args }) => args ?? []);
    const named = (args: readonly string[]): readonly string[] =>
      args.map((arg) =>
        interpolated(arg)
          .replace('//nats:4222', `//${RELEASE}-nats:4222`)
          .replace(/^nats$/, `${RELEASE}-nats`),
      );
    expect(keys?.filter((arg) => arg !== '--administrator-token')).toEqual([
      ...named(serviceOf('keys').command).slice(0, -1),
      `${RELEASE}-nats.${NAMESPACE}.svc`,
    ]);
    expect(stores).toEqual(expect.arrayContaining(named(serviceOf('stores').command).slice(0, 9)));
    expect(environmentIn(initContainers[2]!)['POSTGRES_URL']).toBe(
      `postgres://postgres@${RELEASE}-postgres:5432/postgres`,
    );
    for (const args of [early, containers[0]?.args])
      expect(args).toEqual([
        ...['apps/cli/dist/bundle.mjs', 'provision', 'kubernetes-secrets'],
        ...['--secrets', '/secrets', '--prefix', RELEASE],
      ]);
  });

  it('mounts into each container the Secret of its own name, and all keys only where they are created', () => {
    const pods = podsOf(rendered(...PUBLISHED));
    const secrets = [...pods].map(([name, { volumes }]) => [
      name.split('/')[1],
      volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    ]);
    expect(Object.fromEntries(secrets)).toEqual({
      ...Object.fromEntries([...PROGRAMS, 'nats', 'postgres'].map((name) => [name, [`${RELEASE}-${name}`]])),
      gateway: [`${RELEASE}-gateway`, `${RELEASE}-gateway-token`],
      'provision-1': [],
    });
    const claims = containersOf().filter(([, { volumeMounts }]) =>
      volumeMounts.some((one) => one.mountPath === '/data'),
    );
    expect([...new Set(claims.map(([name]) => name))]).toEqual(['Job/provision-1']);
    for (const [name, { volumeMounts }] of containersOf(...PUBLISHED).filter(([pod]) => !pod.startsWith('Job/')))
      for (const mount of volumeMounts.filter(({ mountPath }) => mountPath.startsWith('/secrets')))
        expect([name, mount]).toEqual([name, { ...mount, readOnly: true }]);
  });

  it('keeps containers from writing their image, gaining privileges, and calling the API of their cluster', () => {
    for (const [name, { securityContext, resources }] of containersOf(...PUBLISHED)) {
      expect([name, securityContext]).toEqual([
        name,
        { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      ]);
      expect([name, resources.limits.memory]).toEqual([name, expect.stringMatching(/^\d+[MG]i$/)]);
    }
    for (const [name, pod] of podsOf(rendered(...PUBLISHED)))
      expect([name, pod]).toEqual([
        name,
        expect.objectContaining({
          automountServiceAccountToken: false,
          securityContext: expect.objectContaining({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
        }),
      ]);
  });

  it('keeps streams on as many servers as NATS has, each of which knows the others', () => {
    const pods = podsOf(rendered('--set', 'nats.replicas=3'));
    const [keys, , stores] = (pods.get('Job/provision-1')?.initContainers ?? []).map(({ args = [] }) => args);
    const peers = [0, 1, 2].flatMap((index) => ['--nats-cluster', `${RELEASE}-nats-${index}.${RELEASE}-nats-peers`]);
    expect(keys).toEqual(expect.arrayContaining(peers));
    expect(stores?.slice(stores.indexOf('--replicas'), stores.indexOf('--replicas') + 2)).toEqual(['--replicas', '3']);
  });

  it('connects to a PostgreSQL of your own with TLS, by the URL of a Secret that no other value contains', () => {
    const manifests = rendered(...OWN_POSTGRES);
    expect(manifests.filter(({ metadata }) => metadata.name.endsWith('-postgres'))).toEqual([]);
    for (const service of SERVICES) {
      const environment = environmentIn(only(`Deployment/${service}`, ...OWN_POSTGRES));
      expect(environment['DATABASE_CA_FILE']).toBe('/postgres/ca.pem');
      expect(environment).not.toHaveProperty('DATABASE_PLAIN_TEXT');
    }
    const stores = podsOf(manifests).get('Job/provision-1')?.initContainers?.[2];
    expect(stores?.args).not.toContain('--postgres-plain-text');
    expect(stores?.env?.find(({ name }) => name === 'POSTGRES_URL')?.valueFrom).toEqual({
      secretKeyRef: { name: 'database', key: 'url' },
    });
  });

  it('keeps the volume of the keys when the release is uninstalled', () => {
    const claim = rendered().find(
      ({ kind, metadata }) => kind === 'PersistentVolumeClaim' && metadata.name.endsWith('-keys'),
    );
    expect(claim?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  });

  it.each([
    ['no image', [], 'image.repository'],
    ['two NATS servers', [...IMAGE, '--set', 'nats.replicas=2'], 'nats.replicas'],
    ['an unknown service', [...IMAGE, '--set', 'services.scheduler.replicas=1'], 'scheduler'],
    [
      'neither a PostgreSQL nor a Secret for one',
      [...IMAGE, '--set', 'postgres.enabled=false'],
      'postgres.existingSecret',
    ],
    ['a tag in the place of a digest', [...IMAGE, '--set', 'image.digest=latest'], 'image.digest'],
  ])('refuses values with %s', (_title, args, words) => {
    const { code, stderr } = runHelm(['template', RELEASE, CHART, ...OFFLINE, ...args]);
    expect([code, stderr.replaceAll('/', '.')]).toEqual([1, expect.stringContaining(words)]);
  });
});
