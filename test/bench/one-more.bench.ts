import { setTimeout as sleep } from 'node:timers/promises';
import { eventSubject, type NodeList, type StoredEvent } from '@fairlead/contracts';
import { makeTail } from '@fairlead/event-sourcing/jetstream';
import { clusterBody, startSystem, type System } from '../system/system.js';
import { distributionOf, rounded, type Figure } from './figures.js';
import { useOfTree } from './processes.js';

/** Including all additions, a cluster may have 500 workers: CLUSTER_WORKERS_MAX of the contracts. */
const SIZES = { small: 10, large: Number(process.env['FAIRLEAD_ONE_MORE_NODES'] ?? 480) } as const;
type Size = keyof typeof SIZES;
/** Large enough for 1,024 nodes. */
const POD_CIDR = '10.128.0.0/14';
/** Medians of nine still vary by as much as the goal. */
const ADDITIONS = Number(process.env['FAIRLEAD_ONE_MORE_ADDITIONS'] ?? 19);
const CREATE_TIMEOUT_MS = 20 * 60_000;
const ADD_TIMEOUT_MS = 5 * 60_000;
const IDLE_SECONDS = 10;
/** Work after a node is Ready belongs to that node, not to the next one. */
const SETTLED_MS = 3_000;
const WITHIN_PERCENT = 20;

interface Stats {
  readonly commands: readonly { readonly machine: string; readonly command: string; readonly at: string }[];
}

/** The cost of one more node. */
interface Addition {
  readonly seconds: number;
  /** By program, without its idle use. */
  readonly cpuSeconds: Seconds;
  /** Commands that ran on existing workers, except those of agents that check their node. */
  readonly foreign: readonly string[];
}

/** By program. */
type Seconds = ReadonlyMap<string, number>;

const cpuOf = ({ environment, supervisor }: System): Seconds =>
  new Map(
    [...environment.supervisor.status(), ...supervisor.status()].flatMap(({ name, pid }) =>
      pid === undefined ? [] : [[name, useOfTree(pid).cpuSeconds] as const],
    ),
  );

/** Difference between two readings, minus this much per second. */
const usedBetween = (
  before: Seconds,
  after: Seconds,
  idle?: { readonly perSecond: Seconds; readonly seconds: number },
) =>
  new Map(
    [...after].map(([name, seconds]) => {
      const unasked = (idle?.perSecond.get(name) ?? 0) * (idle?.seconds ?? 0);
      return [name, seconds - (before.get(name) ?? 0) - unasked] as const;
    }),
  );

const sumOf = (seconds: Seconds): number =>
  Math.max(
    0,
    [...seconds.values()].reduce((sum, one) => sum + one, 0),
  );

/** Activity while nothing is requested. */
interface Idle {
  readonly cpuSecondsPerSecond: Seconds;
  /** Agents check their nodes from time to time. */
  readonly commands: ReadonlySet<string>;
}

const NOTHING: Idle = { cpuSecondsPerSecond: new Map(), commands: new Set() };

const commandsSince = async (system: System, at: string): Promise<Stats['commands']> =>
  (await system.lab<Stats>('GET', '/v1/stats')).body.commands.filter((command) => command.at >= at);

const idleOf = async (system: System): Promise<Idle> => {
  const [before, since] = [cpuOf(system), new Date().toISOString()];
  await sleep(IDLE_SECONDS * 1_000);
  const used = usedBetween(before, cpuOf(system));
  const cpuSecondsPerSecond = new Map([...used].map(([name, seconds]) => [name, seconds / IDLE_SECONDS] as const));
  const commands = await commandsSince(system, since);
  return { cpuSecondsPerSecond, commands: new Set(commands.map(({ command }) => command)) };
};

/** Events since then with their times, to diagnose what it is waiting for. */
const courseOf = async (system: System, cluster: string, seq: number): Promise<string> =>
  (await system.events(cluster))
    .filter(({ meta }) => meta.seq > seq)
    .map(({ type, meta, data }) => `${meta.time} ${type} ${'node' in data ? String(data.node) : ''}`)
    .join('\n  ');

/**
 * Follows only one subject: for each event the server would search thousands of subjects of a large cluster, which
 * would affect the measurement.
 */
const readyAfter = async (system: System, cluster: string, seq: number): Promise<StoredEvent> => {
  const late = AbortSignal.timeout(ADD_TIMEOUT_MS);
  const ready = eventSubject({ namespace: 'default', cluster, context: 'bootstrap' }, 'ClusterReady');
  for await (const event of makeTail(system.admin)(ready, seq, late)) if (event.meta.seq > seq) return event;
  const course = await courseOf(system, cluster, seq);
  throw new Error(`${cluster}: its new node is not Ready within ${ADD_TIMEOUT_MS / 60_000} min\n  ${course}`);
};

const workersOf = async (system: System, cluster: string, minSeq: number): Promise<readonly string[]> => {
  const path = `/ns/default/clusters/${cluster}/nodes?minSeq=${minSeq}&limit=1000`;
  const { items } = (await system.call<NodeList>('GET', path)).body;
  return items.filter(({ role }) => role === 'worker').map(({ name }) => name);
};

const add = async (system: System, cluster: string, idle: Idle): Promise<Addition> => {
  const seq = (await system.events(cluster)).at(-1)?.meta.seq ?? 0;
  const others = new Set(await workersOf(system, cluster, seq));
  const [cpuBefore, startedAt] = [cpuOf(system), Date.now()];
  const worker = [{ connection: 'lab', count: 1, spec: 'lab.medium' }];
  const { status, body } = await system.call('POST', `/ns/default/clusters/${cluster}/nodes`, { worker });
  if (status !== 202) throw new Error(`${cluster}: ${status} ${JSON.stringify(body)}`);
  const ready = await readyAfter(system, cluster, seq);
  const elapsed = (Date.now() - startedAt) / 1_000;
  const cpuSeconds = usedBetween(cpuBefore, cpuOf(system), { perSecond: idle.cpuSecondsPerSecond, seconds: elapsed });
  const foreign = (await commandsSince(system, new Date(startedAt).toISOString())).flatMap(({ machine, command }) =>
    others.has(machine) && !idle.commands.has(command) ? [`${machine}: ${command}`] : [],
  );
  return { seconds: (Date.parse(ready.meta.time) - startedAt) / 1_000, cpuSeconds, foreign };
};

const created = async (system: System, cluster: Size): Promise<void> => {
  const size = { controlPlanes: 1, workers: SIZES[cluster] - 1 };
  const { status, body } = await system.call('POST', '/ns/default/clusters', {
    ...clusterBody(cluster, size),
    config: { kubernetes: { networkCni: 'flannel', podCidr: POD_CIDR } },
  });
  if (status !== 202) throw new Error(`${cluster}: ${status} ${JSON.stringify(body)}`);
  const isOver = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';
  const end = await system.until(cluster, isOver, CREATE_TIMEOUT_MS);
  if (end.type !== 'ClusterReady') throw new Error(`${cluster}: ${JSON.stringify(end.data)}`);
  // Excludes one-time work from the measurement.
  await add(system, cluster, NOTHING);
};

/** Alternating, so that other load of the machine, and idle costs of both clusters, affect both. */
const measured = async (system: System): Promise<Readonly<Record<Size, readonly Addition[]>>> => {
  await created(system, 'small');
  await created(system, 'large');
  await sleep(IDLE_SECONDS * 1_000);
  const idle = await idleOf(system);
  const additions: Record<Size, Addition[]> = { small: [], large: [] };
  for (let index = 0; index < ADDITIONS; index += 1) {
    for (const cluster of ['small', 'large'] as const) {
      additions[cluster].push(await add(system, cluster, idle));
      await sleep(SETTLED_MS);
    }
  }
  return additions;
};

const medianOf = (values: readonly number[]): number => distributionOf(values).p50;

/** Programs with the most additional use in the large cluster, e.g. `lab +0.06`. */
const grownBy = (small: readonly Addition[], large: readonly Addition[]): string => {
  const of = (additions: readonly Addition[], name: string): number =>
    medianOf(additions.map(({ cpuSeconds }) => cpuSeconds.get(name) ?? 0));
  return [...(large[0]?.cpuSeconds.keys() ?? [])]
    .map((name) => ({ name, more: of(large, name) - of(small, name) }))
    .toSorted((one, other) => other.more - one.more)
    .map(({ name, more }) => `${name} ${more < 0 ? '' : '+'}${rounded(more, 2)}`)
    .join(', ');
};

/** The cost of one more node in a large cluster, compared with a small one. */
export const benchOneMore = async (): Promise<Figure[]> => {
  const system = await startSystem({ light: true });
  try {
    const { small, large } = await measured(system);
    const foreign = large.flatMap((addition) => addition.foreign);
    const compared = (name: string, of: (addition: Addition) => number): Figure => {
      const [one, other] = [medianOf(small.map(of)), medianOf(large.map(of))];
      return {
        name: `one more node at ${SIZES.large} nodes, compared with ${SIZES.small}: ${name}`,
        value: (factor) => `${rounded(other * factor, 2)} s, ${rounded(one * factor, 2)} s (medians of ${ADDITIONS})`,
        goal: `within ${WITHIN_PERCENT} %`,
        met: () => other <= one * (1 + WITHIN_PERCENT / 100),
      };
    };
    return [
      compared('request to Ready', ({ seconds }) => seconds),
      compared('CPU of everything', ({ cpuSeconds }) => sumOf(cpuSeconds)),
      {
        name: `one more node at ${SIZES.large} nodes: CPU seconds more than at ${SIZES.small}, by program`,
        value: () => grownBy(small, large),
      },
      {
        name: `one more node at ${SIZES.large} nodes: commands on the other workers`,
        value: () => [foreign.length, ...foreign.slice(0, 3)].join('; '),
        goal: '0',
        met: () => foreign.length === 0,
      },
    ];
  } finally {
    await system.stop();
  }
};
