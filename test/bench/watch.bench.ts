import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { NodeList, StoredEvent } from '@fairlead/contracts';
import pg from 'pg';
import type { ClusterRow, MachineRow } from '../../apps/infra-svc/src/machines/machines.projection.js';
import { looksMore } from '../system/looks.js';
import { clusterBody, startSystem, type System } from '../system/system.js';
import { distributionOf, fixed, rounded, type Figure } from './figures.js';
import { useOf, useOfTree } from './processes.js';

const CONNECTION = 'world';
const CLUSTERS = 100;
const MACHINES_EACH = 100;
const MACHINES = CLUSTERS * MACHINES_EACH;
/** Poll interval here and by default: the cost of a poll does not depend on it. */
const INTERVAL_MS = 5_000;
const DEFAULT_INTERVAL_MS = 60_000;
const LOOKS = 10;
const LOOKS_TIMEOUT_MS = 300_000;
const GOAL_PERCENT = 5;

interface Fleet {
  readonly clusters: readonly (readonly [string, ClusterRow])[];
  readonly machines: readonly (readonly [string, MachineRow])[];
  /** In the lab's list format. */
  readonly listed: readonly object[];
}

const fleet = (): Fleet => {
  const uids = Array.from({ length: CLUSTERS }, () => randomUUID());
  const clusters = uids.map((uid, at) => {
    const row = { namespace: 'bench', cluster: `c-${at}`, uid, status: 'made', failure: null };
    return [`bench/c-${at}`, row as unknown as ClusterRow] as const;
  });
  const made = uids.flatMap((uid, at) =>
    Array.from({ length: MACHINES_EACH }, (_, index) => machine(`c-${at}`, uid, at, index)),
  );
  return { clusters, machines: made.map(({ row }) => row), listed: made.map(({ listed }) => listed) };
};

/** One machine, as in the rows and in its provider's list. */
const machine = (cluster: string, uid: string, at: number, index: number) => {
  const [id, name] = [`i-${at}-${index}`, `${cluster}-w-${index}-aaaaa`];
  const [publicIp, privateIp] = [`127.90.${at}.${index + 1}`, `10.90.${at}.${index + 1}`];
  const [region, zone] = ['lab-1', 'lab-1a'];
  const known = { name, role: 'worker', connection: CONNECTION };
  const running = {
    ...known,
    ...{ pool: 'worker-1', leader: false, spec: 'lab.medium', providerId: `lab://${id}`, publicIp, privateIp },
    ...{ ssh: { host: publicIp, port: 22, user: 'root', keyRef: 'infra-svc.ssh-key.world', hostKey: null } },
    ...{ csp: 'lab', region, zone },
  };
  const row = { namespace: 'bench', cluster, ...known, machine: running } as unknown as MachineRow;
  const listed = {
    ...{ id, name, status: 'running', publicIp, privateIp, sshPort: 22, sshUser: 'root', region, zone, uid },
    group: `bench.${cluster}.${CONNECTION}`,
  };
  return { row: [`bench/${cluster}/${name}`, row] as const, listed };
};

/** A provider that lists these machines; the lab answers everything else. */
const startProvider = async (system: System, machines: () => string): Promise<{ url: string; server: Server }> => {
  const server = createServer((request, response) => {
    const { method = 'GET', url = '/' } = request;
    const send = (status: number, body: string): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    if (method === 'GET' && url === '/v1/machines') return send(200, machines());
    void system.lab(method, url).then(({ status, body }) => send(status, JSON.stringify(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
};

const insert = (pool: pg.Pool, table: string, rows: readonly (readonly [string, object])[]): Promise<unknown> =>
  pool.query(
    `insert into ${table} (key, seq, doc) select row->>0, 1, row->1 from jsonb_array_elements($1::jsonb) as row`,
    [JSON.stringify(rows)],
  );

const costOf = async (system: System, looks: number): Promise<{ service: number; postgres: number }> => {
  const pid = system.supervisor.status().find(({ name }) => name === 'infra-svc')?.pid ?? 0;
  const database = system.environment.supervisor.status().find(({ name }) => name.includes('postgres'))?.pid ?? 0;
  const before = [useOf(pid).cpuSeconds, useOfTree(database).cpuSeconds] as const;
  const startedAt = performance.now();
  // The lab's connection is polled, too.
  await looksMore(system, 'answered', 2 * looks, LOOKS_TIMEOUT_MS);
  const seconds = (performance.now() - startedAt) / 1_000;
  const perSecond = [useOf(pid).cpuSeconds, useOfTree(database).cpuSeconds].map(
    (after, index) => (after - (before[index] ?? 0)) / seconds,
  );
  return { service: perSecond[0] ?? 0, postgres: perSecond[1] ?? 0 };
};

const refuseFindings = async (pool: pg.Pool): Promise<void> => {
  const { rows } = await pool.query<{ machines: string; lost: string; orphans: string }>(
    `select (select count(*) from machines) as machines,
            (select count(*) from machines where doc->>'lost' = 'true') as lost,
            (select count(*) from resources, jsonb_array_elements(doc->'orphans')) as orphans`,
  );
  const found = rows[0];
  if (Number(found?.machines) !== MACHINES || Number(found?.lost) + Number(found?.orphans) > 0)
    throw new Error(`the looks have found differences where there are none: ${JSON.stringify(found)}`);
};

/** Cost for infra-svc to compare the machines of a large connection with the log, without differences. */
export const benchWatch = async (): Promise<Figure[]> => {
  const system = await startSystem({ light: true, env: { INFRA_WATCH_INTERVAL_MS: String(INTERVAL_MS) } });
  const pool = new pg.Pool({ connectionString: system.environment.databases['infra-svc'], max: 2 });
  let listed = JSON.stringify({ items: [] });
  const { url, server } = await startProvider(system, () => listed);
  try {
    const settings = { endpoint: url, token: 'bench-token' };
    const connection = { provider: 'lab', region: 'lab-1', zone: 'lab-1a', namespaces: ['*'], settings };
    const { status, body } = await system.call('PUT', `/connections/${CONNECTION}`, connection);
    if (status >= 300) throw new Error(`the connection is refused: ${JSON.stringify(body)}`);
    await looksMore(system, 'answered', 4, LOOKS_TIMEOUT_MS);
    const idle = await costOf(system, LOOKS / 2);
    const { clusters, machines, listed: items } = fleet();
    await insert(pool, 'clusters', clusters);
    await insert(pool, 'machines', machines);
    listed = JSON.stringify({ items });
    await looksMore(system, 'answered', 4, LOOKS_TIMEOUT_MS);
    const busy = await costOf(system, LOOKS);
    await refuseFindings(pool);
    const perLook = (of: 'service' | 'postgres'): number => (Math.max(0, busy[of] - idle[of]) * INTERVAL_MS) / 1_000;
    const percent = (perLook('service') / (DEFAULT_INTERVAL_MS / 1_000)) * 100;
    return [
      {
        name: `watch of ${MACHINES} machines of one connection every ${DEFAULT_INTERVAL_MS / 1_000} s: CPU of infra-svc`,
        value: (factor) =>
          `${rounded(percent * factor, 2)} % of a core (${rounded(perLook('service') * factor, 2)} s a look; PostgreSQL ${rounded(perLook('postgres') * factor, 2)} s)`,
        goal: `< ${GOAL_PERCENT} %`,
        met: (factor) => percent * factor < GOAL_PERCENT,
      },
    ];
  } finally {
    server.close();
    await pool.end();
    await system.stop();
  }
};

const GONE = 6;
const GONE_EVERY_MS = 10_000;
const GONE_TIMEOUT_MS = 5 * 60_000;

const isReady = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';

/** Destroys the only worker of a cluster, and resolves to the seconds until its replacement is requested. */
const untilReplaced = async (system: System, cluster: string): Promise<number> => {
  const { items } = (await system.call<NodeList>('GET', `/ns/default/clusters/${cluster}/nodes`)).body;
  const worker = items.find(({ role }) => role === 'worker')?.name ?? '';
  const all = (await system.lab<{ items: readonly { id: string; name: string }[] }>('GET', '/v1/machines')).body.items;
  const id = all.find(({ name }) => name === worker)?.id ?? '';
  const { status } = await system.lab('DELETE', `/v1/machines/${id}`);
  if (status >= 300) throw new Error(`${worker} of ${cluster} was not destroyed: ${status}`);
  const goneAt = Date.now();
  const found = await system.until(cluster, ({ type }) => type === 'VmGone', GONE_TIMEOUT_MS);
  if (found.type !== 'VmGone' || found.data.repair !== 'replace')
    throw new Error(`${worker} is not replaced: ${JSON.stringify(found.data)}`);
  return (Date.parse(found.meta.time) - goneAt) / 1_000;
};

/**
 * How long a machine is missing before its replacement is requested, with default intervals and without a health check.
 */
export const benchGone = async (): Promise<Figure[]> => {
  const system = await startSystem({ light: true });
  try {
    const clusters = Array.from({ length: GONE }, (_, at) => `g-${at}`);
    for (const name of clusters) {
      const { status } = await system.call(
        'POST',
        '/ns/default/clusters',
        clusterBody(name, { controlPlanes: 1, workers: 1 }),
      );
      if (status !== 202) throw new Error(`${name}: ${status}`);
    }
    for (const name of clusters) await system.until(name, isReady, GONE_TIMEOUT_MS);
    const took = await Promise.all(
      clusters.map(async (name, at) => {
        await sleep(at * GONE_EVERY_MS);
        return untilReplaced(system, name);
      }),
    );
    const { min, p50, max } = distributionOf(took);
    return [
      fixed(
        `a machine is deleted outside of Fairlead: its replacement is requested after (watch every ${DEFAULT_INTERVAL_MS / 1_000} s)`,
        `min ${rounded(min, 0)}, p50 ${rounded(p50, 0)}, max ${rounded(max, 0)} s (${GONE} values)`,
      ),
    ];
  } finally {
    await system.stop();
  }
};
