import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { mirrorPaths, SERVICES } from '@fairlead/contracts';
import { freePorts, LOOPBACK, Supervisor } from '@fairlead/embedded';
import { localMirror } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  CHART,
  environmentIn,
  helm,
  IMAGE,
  NAMESPACE,
  RELEASE,
  runHelm,
  type Container,
  type PodSpec,
} from '../system/chart.js';
import {
  startProvisionedNats,
  startProvisionedPostgres,
  type ProvisionedServers,
} from '../system/provisioned.servers.js';
import { eventually } from './kubectl.js';
import { startControlPlane, type ControlPlane } from './control.plane.js';

const run = promisify(execFile);
const VERSION = process.env['FAIRLEAD_REAL_VERSION'] ?? 'v1.34.4';
const ADDRESS = '198.18.7.21';
const API = `https://${ADDRESS}:6443`;
const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const TIMEOUT_MS = 240_000;
const START_TIMEOUT_MS = 120_000;
const ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

interface Secret {
  readonly data: Readonly<Record<string, string>>;
}

/**
 * A real API server and controllers take the chart with the real helm. There are no kubelets and no image: the commands
 * of its pods run as processes of this machine, with their environment, and with the files of the Secrets that the API
 * server has.
 */
(helm === undefined ? describe.skip : describe)(`the chart, installed on a real Kubernetes ${VERSION}`, () => {
  const folder = newFolder('chart');
  const supervisor = new Supervisor({ dataDir: join(folder, 'processes') });
  const kubeconfig = join(folder, 'kubeconfig');
  const program = join(localMirror(process.env), mirrorPaths.binary(VERSION, 'kubectl'));
  let controlPlane: ControlPlane;
  let ports: Readonly<Record<string, number>>;

  const kubectl = async (...args: readonly string[]): Promise<string> =>
    (await run(program, ['--kubeconfig', kubeconfig, '--namespace', NAMESPACE, ...args], { timeout: 60_000 })).stdout;
  const secretsThere = async (): Promise<readonly string[]> =>
    (await kubectl('get', 'secrets', '-o', 'jsonpath={.items[?(@.type=="Opaque")].metadata.name}'))
      .split(' ')
      .map((name) => name.replace(`${RELEASE}-`, ''))
      .sort();
  const portOf = (name: string): number => ports[name] ?? 0;
  const servers: ProvisionedServers = { folder, supervisor, port: portOf };

  /** Names of the pods' network are ports of loopback here, and mounted folders are in the folder of this story. */
  const here = (text: string): string =>
    text
      .replaceAll(/(?<![\w.-])\/(data|secrets)(?![\w.-])/g, (_path, name: string) => join(folder, name))
      .replaceAll(`${RELEASE}-nats-peers:8222`, `${LOOPBACK}:${portOf('monitor')}`)
      .replaceAll(`${RELEASE}-nats:4222`, `${LOOPBACK}:${portOf('nats')}`)
      .replaceAll(`${RELEASE}-postgres:5432`, `${LOOPBACK}:${portOf('postgres')}`)
      .replaceAll('/fairlead/', `${CHECKOUT}/`);
  const environment = (container: Container): NodeJS.ProcessEnv => ({
    PATH: process.env['PATH'],
    HOME: folder,
    ...Object.fromEntries(Object.entries(environmentIn(container)).map(([name, value]) => [name, here(value)])),
  });

  /** Runs a container of the Job as the pod would, with a token of its service account. */
  const step = async (container: Container): Promise<string> => {
    const env: NodeJS.ProcessEnv = {
      ...environment(container),
      NODE_EXTRA_CA_CERTS: join(folder, 'account', 'ca.crt'),
    };
    const args = (container.args ?? []).map((arg) => here(arg.replace('$(POSTGRES_URL)', env['POSTGRES_URL'] ?? '')));
    const inside = container.name.startsWith('secrets')
      ? ['--kubernetes-api', API, '--service-account', join(folder, 'account')]
      : container.name === 'keys'
        ? ['--nats-name', LOOPBACK]
        : [];
    return (await run(process.execPath, [...args, ...inside], { cwd: CHECKOUT, env, timeout: START_TIMEOUT_MS }))
      .stderr;
  };
  const jobOf = async (revision: number): Promise<PodSpec> => {
    const job = JSON.parse(await kubectl('get', 'job', `${RELEASE}-provision-${revision}`, '-o', 'json')) as {
      readonly spec: { readonly template: { readonly spec: PodSpec } };
    };
    return job.spec.template.spec;
  };
  const installed = (...args: readonly string[]) =>
    runHelm(
      ['upgrade', '--install', RELEASE, CHART, '--namespace', NAMESPACE, '--kubeconfig', kubeconfig, ...IMAGE, ...args],
      { HOME: folder },
    );

  beforeAll(async () => {
    execFileSync('ip', ['address', 'replace', `${ADDRESS}/32`, 'dev', 'lo']);
    const names = ['nats', 'monitor', 'postgres', ...SERVICES];
    const free = await freePorts(folder, names.length);
    ports = Object.fromEntries(names.map((name, index) => [name, free[index] ?? 0]));
    controlPlane = await startControlPlane(VERSION, [ADDRESS]);
    writeFileSync(kubeconfig, controlPlane.kubeconfig, { mode: 0o600 });
    await kubectl('create', 'namespace', NAMESPACE);
    await kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
  }, TIMEOUT_MS);
  afterAll(async () => {
    await supervisor.stop();
    await controlPlane?.stop();
    removeFolder(folder);
  }, 60_000);

  it(
    'is accepted, and the controllers create every pod under the restricted Pod Security Standard',
    async () => {
      expect(installed('--set', 'publish.domain=clusters.example.com')).toMatchObject({ code: 0, stderr: '' });
      const owners = [...SERVICES, 'revoker', 'tunnel', 'nats', 'postgres', 'provision'].sort();
      const components = 'jsonpath={.items[*].metadata.labels.app\\.kubernetes\\.io/component}';
      await eventually(
        'a pod of each workload',
        async () => (await kubectl('get', 'pods', '-o', components)).split(' ').sort(),
        (found) => JSON.stringify(found) === JSON.stringify(owners),
        60_000,
      );
      const failures = await kubectl('get', 'events', '--field-selector', 'reason=FailedCreate', '-o', 'name');
      expect(failures).toBe('');
    },
    TIMEOUT_MS,
  );

  it(
    'provisions its keys, streams and databases, and hands them out as Secrets once each is complete',
    async () => {
      const account = join(folder, 'account');
      mkdirSync(account);
      writeFileSync(join(account, 'namespace'), NAMESPACE);
      writeFileSync(join(account, 'token'), await kubectl('create', 'token', `${RELEASE}-provision`), { mode: 0o600 });
      writeFileSync(join(account, 'ca.crt'), controlPlane.authority.pair.certPem);
      const { initContainers, containers, volumes } = await jobOf(1);
      expect(JSON.stringify(volumes)).toContain('serviceAccountToken');
      expect(initContainers?.[1]?.volumeMounts.map(({ mountPath }) => mountPath)).toContain(ACCOUNT_DIR);
      const [keys, early, stores] = initContainers as readonly [Container, Container, Container];

      expect(await secretsThere()).toEqual(['']);
      await step(keys);
      await step(early);
      expect(await secretsThere()).toEqual(['gateway-token', 'nats', 'postgres', 'revoker', 'tunnel']);
      await startProvisionedNats(servers, join(folder, 'secrets', 'nats', 'nats.conf'), (config) => [
        '--config',
        config,
      ]);
      await startProvisionedPostgres(servers, join(folder, 'data'));
      await step(stores);
      expect(await step(containers[0]!)).toContain(`${RELEASE}-gateway, `);
      const all = [...SERVICES, 'gateway-token', 'nats', 'postgres', 'revoker', 'tunnel'].sort();
      expect(await secretsThere()).toEqual(all);
    },
    TIMEOUT_MS,
  );

  it(
    'runs services that become ready with their Secrets, and lets the administrator in with the token of another',
    async () => {
      for (const service of SERVICES) {
        const names = service === 'gateway' ? [service, 'gateway-token'] : [service];
        for (const name of names) {
          const secret = JSON.parse(await kubectl('get', 'secret', `${RELEASE}-${name}`, '-o', 'json')) as Secret;
          mkdirSync(join(folder, 'secrets', name), { recursive: true });
          for (const [file, text] of Object.entries(secret.data))
            writeFileSync(join(folder, 'secrets', name, file), Buffer.from(text, 'base64'), { mode: 0o400 });
        }
        const deployment = JSON.parse(await kubectl('get', 'deployment', `${RELEASE}-${service}`, '-o', 'json')) as {
          readonly spec: { readonly template: { readonly spec: PodSpec } };
        };
        const [container] = deployment.spec.template.spec.containers as readonly [Container];
        await supervisor.start({
          name: service,
          command: process.execPath,
          args: (container.args ?? []).map((arg) => join(CHECKOUT, arg)),
          env: { ...environment(container), HOST: LOOPBACK, PORT: String(portOf(service)) },
          readyUrl: `http://${LOOPBACK}:${portOf(service)}/readyz`,
          readyTimeoutMs: START_TIMEOUT_MS,
          stopTimeoutMs: 20_000,
        });
      }
      const token = readFileSync(join(folder, 'secrets', 'gateway-token', 'local.token'), 'utf8').trim();
      const answer = await fetch(`http://${LOOPBACK}:${portOf('gateway')}/ns`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(answer.status).toBe(200);
    },
    TIMEOUT_MS,
  );

  it(
    'lets the Job write its own Secrets and read none',
    async () => {
      const mayIt = (verb: string, what: string): Promise<string> =>
        kubectl('auth', 'can-i', verb, what, `--as=system:serviceaccount:${NAMESPACE}:${RELEASE}-provision`).then(
          (text) => text.trim(),
          (error: unknown) => String((error as { readonly stdout?: unknown }).stdout).trim(),
        );
      expect(await mayIt('patch', `secrets/${RELEASE}-gateway`)).toBe('yes');
      expect(await mayIt('patch', 'secrets/another')).toBe('no');
      expect(await mayIt('get', `secrets/${RELEASE}-gateway`)).toBe('no');
      expect(await mayIt('list', 'secrets')).toBe('no');
      expect(await mayIt('get', 'pods')).toBe('no');
    },
    TIMEOUT_MS,
  );

  it(
    'is upgraded without a change of what exists, and leaves its keys when it is uninstalled',
    async () => {
      const before = parse(await kubectl('get', 'secret', `${RELEASE}-gateway`, '-o', 'yaml')) as Secret;
      expect(installed('--set', 'services.infra-svc.replicas=3')).toMatchObject({ code: 0, stderr: '' });
      const { initContainers, containers } = await jobOf(2);
      for (const container of [...(initContainers ?? []), ...containers]) await step(container);
      expect(parse(await kubectl('get', 'secret', `${RELEASE}-gateway`, '-o', 'yaml'))).toMatchObject({
        data: before.data,
      });
      const uninstalled = runHelm(['uninstall', RELEASE, '--namespace', NAMESPACE, '--kubeconfig', kubeconfig], {
        HOME: folder,
      });
      expect(uninstalled.code).toBe(0);
      expect(await kubectl('get', 'persistentvolumeclaims', '-o', 'name')).toContain(`/${RELEASE}-keys`);
      expect(await secretsThere()).toContain('gateway');
    },
    TIMEOUT_MS,
  );
});
