import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SERVICES } from '@fairlead/contracts';
import { freePorts, LOOPBACK, NATS_MEMORY, Supervisor } from '@fairlead/embedded';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SERVICE_MEMORY } from '../apps/cli/src/up/memory.settings.js';
import { compose, COMPOSE_FILE, interpolated, serviceOf } from './system/compose.file.js';
import { startProvisionedNats, startProvisionedPostgres } from './system/provisioned.servers.js';
import { clusterBody, type ApiResponse, type ClusterView } from './system/system.js';

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const PROGRAMS = SERVICES;
/** Long-running containers: the services, and the revoker, which has no database and no secrets to open. */
const STAYING = [...PROGRAMS, 'revoker'] as const;
const SCALABLE: readonly string[] = PROGRAMS;
const NATS_CONFIG = '/secrets/nats/nats.conf';
const START_TIMEOUT_MS = 120_000;
const CREATE_TIMEOUT_MS = 180_000;
const POLL_MS = 100;

const dockerfile = readFileSync(join(CHECKOUT, 'Dockerfile'), 'utf8');

/** `NAME=value` pairs of the image's ENV lines, which apply to every container. */
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.+)$/gm)].flatMap(([, pairs = '']) =>
    [...pairs.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g)].map(([, name = '', quoted, bare]) => [
      name,
      quoted ?? bare ?? '',
    ]),
  ),
);

const environmentOf = (name: string): Readonly<Record<string, string>> => ({
  ...imageEnvironment,
  ...serviceOf(name).environment,
});

interface Mount {
  readonly volume: string;
  readonly path: string;
  readonly readOnly: boolean;
}

const mountsOf = (name: string): readonly Mount[] =>
  serviceOf(name).volumes.map((text) => {
    const [volume = '', path = '', mode] = text.split(':');
    return { volume, path, readOnly: mode === 'ro' };
  });

/** Volumes that contain secrets in files: all but the data of the two servers and the bundles. */
const secretMountsOf = (name: string): readonly Mount[] =>
  mountsOf(name).filter(({ volume }) => !['nats', 'postgres', 'bundles'].includes(volume));

/** Containers that mount others' keys to distribute them; both end before a service starts. */
const ONE_OFF = ['keys', 'stores'];

describe('docker-compose.yml', () => {
  const ours = Object.entries(compose.services).filter(([, { image }]) => image === 'fairlead:latest');

  it('runs every program of the image through an entry point created by the build', () => {
    expect(ours.map(([name]) => name).sort()).toEqual(['keys', 'stores', 'tunnel', ...STAYING].sort());
    for (const [, { command }] of ours) expect(existsSync(join(CHECKOUT, command[0] ?? ''))).toBe(true);
    for (const name of [...STAYING, 'tunnel'])
      expect(serviceOf(name).command).toEqual([`apps/${name}/dist/bundle.mjs`]);
    expect(ours.filter(([, { build }]) => build !== undefined).map(([name]) => name)).toEqual(['keys']);
  });

  it('copies only existing files into the image, and from the checkout those that the build reads', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = '']) =>
      words.split(/\s+/).slice(0, -1),
    );
    for (const path of copied) expect([path, existsSync(join(CHECKOUT, path))]).toEqual([path, true]);
    expect(copied).toEqual(expect.arrayContaining(['package-lock.json', 'tsconfig.json', 'apps/', 'libs/', 'tools/']));
    expect(dockerfile).toMatch(/^USER fairlead$/m);
    expect(dockerfile).toContain(`--uid ${serviceOf('nats').user ?? 'no user'} `);
  });

  it('refers only to its own services and volumes', () => {
    for (const [name, { depends_on: needed = {}, volumes }] of Object.entries(compose.services)) {
      for (const other of Object.keys(needed)) expect([name, other in compose.services]).toEqual([name, true]);
      for (const volume of volumes)
        expect([name, (volume.split(':')[0] ?? '') in compose.volumes]).toEqual([name, true]);
    }
  });

  it('waits for containers to be healthy or completed, and checks the health of every long-running one', () => {
    for (const [name, { depends_on: needed = {}, restart, healthcheck }] of Object.entries(compose.services)) {
      for (const [other, { condition }] of Object.entries(needed)) {
        const stays = serviceOf(other).restart !== undefined;
        expect([name, other, condition]).toEqual([
          name,
          other,
          stays ? 'service_healthy' : 'service_completed_successfully',
        ]);
      }
      if (restart !== undefined) expect([name, healthcheck?.test[0]]).toEqual([name, 'CMD']);
    }
  });

  it('allows scaling of every service: no container has a fixed name or a single port of the machine', () => {
    for (const name of SCALABLE) {
      const { container_name: containerName, ports = [] } = serviceOf(name);
      expect([name, containerName]).toEqual([name, undefined]);
      for (const port of ports) expect(interpolated(port)).toMatch(/^127\.0\.0\.1:\d+-\d+:(8080|7443)$/);
    }
  });

  it('publishes nothing beyond this machine unless configured', () => {
    for (const { ports = [] } of Object.values(compose.services))
      for (const port of ports) expect(interpolated(port)).toMatch(/^127\.0\.0\.1:/);
  });

  it('gives each service its required settings, its own credential and its own database', () => {
    for (const name of PROGRAMS) {
      expect(environmentOf(name)).toMatchObject({
        NATS_URL: '${FAIRLEAD_NATS_URL:-tls://nats:4222}',
        NATS_CA_FILE: `/secrets/${name}/nats-ca.pem`,
        NATS_CREDS: `/secrets/${name}/nats.creds`,
        DATABASE_URL_FILE: `/secrets/${name}/database-url`,
        FAIRLEAD_MASTER_KEY_FILE: `/secrets/${name}/master.key`,
        HOST: '0.0.0.0',
        PORT: '8080',
      });
    }
    const bundle = environmentOf('bootstrap-svc')['AGENT_BUNDLE'] ?? '';
    expect(existsSync(bundle.replace(/^\/fairlead/, CHECKOUT))).toBe(true);
  });

  it('gives services and NATS the memory settings of an embedded instance', () => {
    for (const name of STAYING) expect(environmentOf(name)).toMatchObject(SERVICE_MEMORY);
    expect(serviceOf('nats').environment).toMatchObject(NATS_MEMORY);
  });

  it('mounts the volume with all keys only where keys are created, and into each other container its own, read-only', () => {
    const mounts = Object.fromEntries(
      Object.keys(compose.services)
        .filter((name) => !ONE_OFF.includes(name))
        .map((name) => [name, secretMountsOf(name).map(({ path, readOnly }) => `${path}${readOnly ? ':ro' : ''}`)]),
    );
    expect(mounts).toEqual({
      nats: ['/secrets/nats:ro'],
      postgres: ['/secrets/postgres:ro'],
      gateway: ['/secrets/gateway:ro', '/secrets/gateway-token'],
      'infra-svc': ['/secrets/infra-svc:ro'],
      'bootstrap-svc': ['/secrets/bootstrap-svc:ro'],
      'upgrade-svc': ['/secrets/upgrade-svc:ro'],
      revoker: ['/secrets/revoker:ro'],
      tunnel: ['/secrets/tunnel:ro'],
    });
    for (const name of ONE_OFF) expect([name, serviceOf(name).restart]).toEqual([name, undefined]);
  });

  it('gives each volume the same path in every container, so that distributed files are found', () => {
    const paths = new Map<string, Set<string>>();
    for (const name of Object.keys(compose.services))
      for (const { volume, path } of mountsOf(name)) paths.set(volume, (paths.get(volume) ?? new Set()).add(path));
    expect([...paths].filter(([, all]) => all.size !== 1)).toEqual([]);
    expect([...paths.keys()].sort()).toEqual(Object.keys(compose.volumes).sort());
  });

  it("creates each volume's folder in the image, because a new volume inherits its owner from there", () => {
    const made = dockerfile
      .split(/[\n&]+/)
      .filter((line) => line.includes('install -d'))
      .flatMap((line) => {
        const [, mode = ''] = /-m (\d+)/.exec(line) ?? [];
        return line.split(/\s+/).flatMap((word) => (word.startsWith('/') ? [[word, mode]] : []));
      });
    const secret = secretMountsOf('keys').map(({ path }) => [path, '0700']);
    expect(made.sort()).toEqual([...secret, ['/bundles', '0755'], ['/nats', '0755']].sort());
  });

  it('prevents containers from writing their image, gaining privileges, or exceeding their share of the machine', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      expect([name, service]).toEqual([
        name,
        expect.objectContaining({
          read_only: true,
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
          pids_limit: 256,
          mem_limit: expect.stringMatching(/^[124]g$/),
          tmpfs: expect.arrayContaining([expect.stringMatching(/^\/tmp:mode=1777,size=\d+m$/)]),
        }),
      ]);
      expect([name, service.privileged ?? false]).toEqual([name, false]);
      expect([name, service.network_mode]).toEqual([name, name === 'keys' ? 'none' : undefined]);
    }
    const added = Object.entries(compose.services).flatMap(([name, { cap_add: more }]) => (more ? [[name, more]] : []));
    expect(added).toEqual([['postgres', ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID']]]);
  });

  it('is accepted by Docker Compose itself, if that is installed', () => {
    if (spawnSync('docker', ['compose', 'version']).status !== 0) {
      process.stderr.write('NOT CHECKED: there is no "docker compose" here to read docker-compose.yml\n');
      return;
    }
    const { status, stderr } = spawnSync('docker', ['compose', '--file', COMPOSE_FILE, 'config', '--quiet'], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

/**
 * Runs what Compose would start as processes on this machine: paths are in a temporary folder, hosts are loopback,
 * ports are free ones.
 */
class Replay {
  readonly folder = newFolder('compose');
  readonly supervisor = new Supervisor({ dataDir: join(this.folder, 'processes') });
  private ports: Readonly<Record<string, number>> = {};

  static async begin(): Promise<Replay> {
    const replay = new Replay();
    const names = ['nats', 'monitor', 'postgres', 'lab', ...STAYING];
    const free = await freePorts(replay.folder, names.length);
    replay.ports = Object.fromEntries(names.map((name, index) => [name, free[index] ?? 0]));
    return replay;
  }

  port(name: string): number {
    const port = this.ports[name];
    if (port === undefined) throw new Error(`no port was reserved for ${name}`);
    return port;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  here(text: string): string {
    return interpolated(text)
      .replaceAll(/(?<![\w.-])\/(data|secrets|bundles)(?![\w.-])/g, (_path, name: string) => join(this.folder, name))
      .replaceAll('nats:8222', `${LOOPBACK}:${this.port('monitor')}`)
      .replaceAll('nats:4222', `${LOOPBACK}:${this.port('nats')}`)
      .replaceAll('postgres:5432', `${LOOPBACK}:${this.port('postgres')}`)
      .replaceAll('/fairlead/', `${CHECKOUT}/`);
  }

  /** Runs a one-off container's command; throws with its output if it fails. */
  async provision(name: 'keys' | 'stores'): Promise<string> {
    const args = serviceOf(name).command.map((arg) => this.here(arg));
    const { stderr } = await run(process.execPath, args, {
      cwd: CHECKOUT,
      env: bareEnvironment(),
      timeout: START_TIMEOUT_MS,
    });
    return stderr;
  }

  startNats(): Promise<void> {
    return startProvisionedNats(this, this.here(NATS_CONFIG), (moved) =>
      serviceOf('nats').command.map((arg) => (arg === NATS_CONFIG ? moved : interpolated(arg))),
    );
  }

  /** In a separate folder, with the password created by the keys' container. */
  startPostgres(): Promise<void> {
    return startProvisionedPostgres(this, this.data);
  }

  async startService(name: (typeof STAYING)[number]): Promise<void> {
    // The image's helm is not available on this machine, and no add-on is installed here.
    const { HELM_PROGRAM: _helm, ...image } = environmentOf(name);
    const environment = Object.entries(image).map(([key, value]) => [key, this.here(value)]);
    await this.supervisor.start({
      name,
      command: process.execPath,
      args: serviceOf(name).command.map((arg) => join(CHECKOUT, arg)),
      env: {
        ...bareEnvironment(),
        ...Object.fromEntries(environment),
        HOST: LOOPBACK,
        PORT: String(this.port(name)),
        AGENT_NODE_BINARY: process.execPath,
      },
      readyUrl: `${this.url(name)}/readyz`,
      readyTimeoutMs: START_TIMEOUT_MS,
      stopTimeoutMs: 20_000,
    });
  }

  /** Simulates the hosts, which are not part of Compose. */
  async startLab(token: string): Promise<void> {
    await this.supervisor.start({
      name: 'lab',
      command: process.execPath,
      args: [
        join(CHECKOUT, 'apps/lab/dist/bundle.mjs'),
        ...['--data', join(this.folder, 'lab'), '--port', String(this.port('lab')), '--delays', 'none', '--light'],
      ],
      env: { ...bareEnvironment(), LAB_TOKEN: token },
      ready: (line) => line.startsWith('FAIRLEAD READY lab '),
      readyTimeoutMs: START_TIMEOUT_MS,
    });
  }

  url(name: string): string {
    return `http://${LOOPBACK}:${this.port(name)}`;
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<ApiResponse<Body>> {
    const token = readFileSync(this.here('/secrets/gateway-token/local.token'), 'utf8').trim();
    const response = await fetch(`${this.url('gateway')}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  }

  async end(): Promise<void> {
    await this.supervisor.stop();
    removeFolder(this.folder);
  }
}

/** Containers do not inherit the environment. */
const bareEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], HOME: tmpdir(), LOG_LEVEL: 'warn' });

/** All files below a folder, by relative path. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();

const textsIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(filesIn(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]));

/** Every secret, by what it opens. */
const secretsOf = (data: string): Readonly<Record<string, string>> => {
  const text = (file: string): string => readFileSync(join(data, file), 'utf8').trim();
  const json = (file: string) => JSON.parse(text(file)) as Readonly<Record<string, string>>;
  const seedOf = (creds: string): string => /^SU[A-Z0-9]{50,}$/m.exec(text(creds))?.[0] ?? '';
  const keyOf = (pem: string): string => text(pem).split('-----BEGIN PRIVATE KEY-----')[1] ?? '';
  return {
    ...Object.fromEntries(Object.entries(json('keys/nats-operator.json')).filter(([name]) => name.endsWith('Seed'))),
    ...Object.fromEntries(
      Object.entries(json('keys/databases.json')).map(([name, value]) => [`${name} database`, value]),
    ),
    ...Object.fromEntries(
      [...STAYING, 'revoker-system', 'admin'].map((name) => [`${name} on NATS`, seedOf(`creds/${name}.creds`)]),
    ),
    'certificates of NATS': keyOf('keys/nats-authority.pem'),
    'certificate of the server': keyOf('keys/nats-server.pem'),
    'superuser of PostgreSQL': text('keys/postgres.password'),
    'lab token': text('keys/lab.token'),
    'master key': text('keys/master.key'),
  };
};

describe('the processes of docker-compose.yml on this machine', () => {
  let replay: Replay;

  beforeAll(async () => {
    replay = await Replay.begin();
    await replay.provision('keys');
    await Promise.all([replay.startNats(), replay.startPostgres()]);
    await replay.provision('stores');
    await Promise.all(STAYING.map((name) => replay.startService(name)));
  }, 2 * START_TIMEOUT_MS);

  afterAll(() => replay?.end(), 60_000);

  it('are ready, with every service', async () => {
    for (const name of PROGRAMS) {
      const response = await fetch(`${replay.url(name)}/readyz`);
      expect([name, response.status, await response.json()]).toMatchObject([
        name,
        200,
        { status: 'ok', nats: 'ok', database: 'ok', log: 'ok' },
      ]);
    }
  });

  it('hide their secrets from other users of the machine', () => {
    for (const root of [replay.here('/secrets'), join(replay.data, 'keys'), join(replay.data, 'creds')]) {
      const entries = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((entry) => join(root, entry));
      const open = [root, ...entries].filter((entry) => (statSync(entry).mode & 0o077) !== 0);
      expect(open).toEqual([]);
      expect(entries.length).toBeGreaterThan(4);
    }
  });

  it('receive exactly the folders that docker-compose.yml mounts, with the files that the services read and no others', () => {
    const service = ['database-url', 'master.key', 'nats-ca.pem', 'nats.creds'];
    const handedOut = Object.fromEntries(
      readdirSync(replay.here('/secrets')).map((holder) => [holder, filesIn(replay.here(`/secrets/${holder}`))]),
    );
    expect(handedOut).toEqual({
      gateway: service,
      'gateway-token': ['local.token'],
      'infra-svc': [...service, 'tunnel-host.key.pub'],
      'bootstrap-svc': [...service, 'node-signing.json'].sort(),
      'upgrade-svc': service,
      revoker: ['account-signing.json', 'nats-ca.pem', 'nats-system.creds', 'nats.creds'],
      tunnel: ['nats-ca.pem', 'nats.creds', 'tunnel-host.key'],
      nats: ['nats-ca.pem', 'nats-server.pem', 'nats.conf'],
      postgres: ['postgres.password'],
    });
    const mounted = secretMountsOf('keys').map(({ path }) => path);
    expect(mounted.sort()).toEqual(['/data', ...Object.keys(handedOut).map((holder) => `/secrets/${holder}`)].sort());
    for (const name of STAYING) {
      const readable = secretMountsOf(name).flatMap(({ path }) =>
        filesIn(replay.here(path)).map((file) => `${path}/${file}`),
      );
      // A folder of which only the free space of its file system is checked.
      const { NATS_STORE_DIR: _folder, ...environment } = environmentOf(name);
      const named = Object.values(environment).filter((value) => value.startsWith('/secrets/'));
      expect([name, named.sort()]).toEqual([name, readable.sort()]);
    }
  });

  it('cannot read any secret of another container, whatever file it is in', () => {
    const secrets = Object.entries(secretsOf(replay.data));
    for (const [name, value] of secrets) expect([name, value.length > 20]).toEqual([name, true]);
    const readable = Object.fromEntries(
      ['nats', 'postgres', ...STAYING].map((name) => {
        const texts = secretMountsOf(name).flatMap(({ path }) => Object.values(textsIn(replay.here(path))));
        return [
          name,
          secrets.flatMap(([secret, value]) => (texts.some((text) => text.includes(value)) ? [secret] : [])),
        ];
      }),
    );
    const own = (name: string) => [`${name} database`, `${name} on NATS`, 'master key'];
    expect(readable).toEqual({
      nats: ['certificate of the server'],
      postgres: ['superuser of PostgreSQL'],
      gateway: own('gateway'),
      'infra-svc': own('infra-svc'),
      'bootstrap-svc': ['nodeSigningSeed', ...own('bootstrap-svc')],
      'upgrade-svc': own('upgrade-svc'),
      revoker: ['operatorSigningSeed', 'revoker on NATS', 'revoker-system on NATS'],
    });
  });

  it('keep every key, credential and database when provisioned again', async () => {
    const all = () => [
      ...['keys', 'creds'].map((name) => textsIn(join(replay.data, name))),
      textsIn(replay.here('/secrets')),
    ];
    const before = all();
    expect(await replay.provision('keys')).toContain(replay.data);
    expect(await replay.provision('stores')).toContain('NATS has its streams');
    expect(all()).toEqual(before);
  }, 60_000);

  it(
    'make a cluster of simulated hosts Ready',
    async () => {
      const token = 'a-token-for-the-lab';
      await replay.startLab(token);
      expect((await replay.call('POST', '/ns', { name: 'default', description: 'For tests' })).status).toBeLessThan(
        300,
      );
      const connection = {
        provider: 'lab',
        region: 'lab-1',
        zone: 'lab-1a',
        settings: { endpoint: replay.url('lab'), token },
      };
      expect((await replay.call('PUT', '/connections/lab', connection)).status).toBeLessThan(300);
      const asked = await replay.call<{ readonly lastSeq: number }>(
        'POST',
        '/ns/default/clusters',
        clusterBody('demo', { controlPlanes: 1, workers: 1 }),
      );
      expect(asked.status).toBe(202);
      expect(await finalPhase(replay, asked.body.lastSeq)).toMatchObject({ phase: 'Provisioned' });
    },
    CREATE_TIMEOUT_MS + 60_000,
  );
});

/** CB-Ladybug's final phase of the cluster (`Provisioned` means Ready), or its current one at the deadline. */
const finalPhase = async (
  replay: Replay,
  sinceSeq: number,
): Promise<{ readonly phase: string; readonly message: string }> => {
  const deadline = performance.now() + CREATE_TIMEOUT_MS;
  for (;;) {
    const { body } = await replay.call<ClusterView>('GET', `/ns/default/clusters/demo?minSeq=${sinceSeq}`);
    const { phase, message } = body.status;
    if (phase === 'Provisioned' || phase === 'Failed' || performance.now() >= deadline) return { phase, message };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
};
