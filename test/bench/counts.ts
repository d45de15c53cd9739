import { STREAMS } from '@fairlead/contracts';
import pg from 'pg';
import { SERVICE_NAMES, type System } from '../system/system.js';
import { rounded, type Figure } from './figures.js';
import { useOf, useOfTree } from './processes.js';

type Counts = Readonly<Record<string, number>>;

const pidOf = (supervisor: System['supervisor'], name: string): number =>
  supervisor.status().find((status) => status.name.includes(name))?.pid ?? 0;

const cpuOf = ({ supervisor, environment }: System): Counts => {
  const services = SERVICE_NAMES.map((name) => [name, useOf(pidOf(supervisor, name)).cpuSeconds] as const);
  return {
    ...Object.fromEntries(services),
    'nats-server': useOf(pidOf(environment.supervisor, 'nats')).cpuSeconds,
    postgres: useOfTree(pidOf(environment.supervisor, 'postgres')).cpuSeconds,
  };
};

interface Monitored {
  readonly in_msgs: number;
  readonly out_msgs: number;
}

const messagesOf = async ({ environment }: System): Promise<Counts> => {
  const { monitorUrl } = environment.nats;
  if (monitorUrl === undefined) return {};
  const { in_msgs, out_msgs } = (await (await fetch(`${monitorUrl}/varz`)).json()) as Monitored;
  return { received: in_msgs, sent: out_msgs };
};

interface Connected {
  readonly name?: string;
  readonly in_msgs: number;
  readonly out_msgs: number;
}

const CONNECTIONS_MAX = 100_000;
const AGENT = /^agent .*/;

/** Messages that each program has sent to and received from NATS over its open connections. */
const messagesByProgram = async ({ environment }: System): Promise<Counts> => {
  const { monitorUrl } = environment.nats;
  if (monitorUrl === undefined) return {};
  const answer = await fetch(`${monitorUrl}/connz?limit=${CONNECTIONS_MAX}`);
  const { connections } = (await answer.json()) as { readonly connections: readonly Connected[] };
  const counts: Record<string, number> = {};
  for (const { name = 'others', in_msgs, out_msgs } of connections) {
    const program = name.replace(AGENT, 'agents');
    for (const [direction, count] of [
      ['sends', in_msgs],
      ['gets', out_msgs],
    ] as const)
      counts[`${program} ${direction}`] = (counts[`${program} ${direction}`] ?? 0) + count;
  }
  return counts;
};

/** Number of messages ever stored in the log. */
const storedOf = async ({ admin }: System): Promise<Counts> => {
  const lastSeqOf = async (stream: string): Promise<number> => {
    const info = await admin.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 30_000 });
    return info.json<{ state: { last_seq: number } }>().state.last_seq;
  };
  return { events: await lastSeqOf(STREAMS.events) };
};

/** Writes of all other connections; a backend reports them within a second, and when it is idle. */
const databaseOf = async ({ environment }: System): Promise<Record<'commits' | 'syncs', Counts>> => {
  const client = new pg.Client({ connectionString: environment.databaseAdminUrl });
  await client.connect();
  try {
    const commits = await client.query<{ datname: string; n: string }>(
      `select datname, xact_commit n from pg_stat_database where datname not in ('postgres', 'template0', 'template1') and datname is not null`,
    );
    const major = Number((await client.query<{ v: string }>('show server_version_num')).rows[0]?.v) / 10_000;
    const syncs = await client.query<{ n: string }>(
      major >= 18 ? `select sum(fsyncs) n from pg_stat_io where object = 'wal'` : 'select wal_sync n from pg_stat_wal',
    );
    return {
      commits: Object.fromEntries(commits.rows.map(({ datname, n }) => [datname, Number(n)])),
      syncs: { WAL: Number(syncs.rows[0]?.n) },
    };
  } finally {
    await client.end();
  }
};

export interface Count {
  readonly what: string;
  readonly unit: string;
  readonly of: Counts;
}

/** Work done so far, independent of other load on the machine. */
export const countsOf = async (system: System): Promise<readonly Count[]> => {
  const { commits, syncs } = await databaseOf(system);
  return [
    { what: 'CPU', unit: 'ms', of: Object.fromEntries(Object.entries(cpuOf(system)).map(([k, s]) => [k, s * 1_000])) },
    { what: 'messages of NATS', unit: '', of: await messagesOf(system) },
    { what: 'messages of programs', unit: '', of: await messagesByProgram(system) },
    { what: 'messages stored', unit: '', of: await storedOf(system) },
    { what: 'transactions of PostgreSQL', unit: '', of: commits },
    { what: 'syncs of PostgreSQL', unit: '', of: syncs },
  ];
};

interface Counted {
  /** The unit counted by `count`, e.g. `fact`. */
  readonly each: string;
  readonly count: number;
}

/** The difference of two counts, per unit done in between. */
export const countFigures = (
  before: readonly Count[],
  after: readonly Count[],
  { each, count: total }: Counted,
): Figure[] =>
  after.map(({ what, unit, of }, index) => {
    const line = (factor: number): string =>
      Object.entries(of)
        .map(([name, count]) => {
          const ofEach = ((count - (before[index]?.of[name] ?? 0)) / total) * factor;
          return `${name} ${rounded(ofEach, 2)}${unit && ` ${unit}`}`;
        })
        .join(', ');
    return { name: `${what} for each ${each}`, value: (factor) => line(what === 'CPU' ? factor : 1) };
  });
