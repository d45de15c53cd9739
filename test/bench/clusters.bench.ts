import { setTimeout as sleep } from 'node:timers/promises';
import { partitionFilter, PARTITION_COUNT, storedSubject, type StoredEvent } from '@fairlead/contracts';
import { decode, readAll } from '@fairlead/event-sourcing/jetstream';
import { clusterBody, SERVICE_NAMES, startSystem, type System } from '../system/system.js';
import { countFigures, countsOf, type Count } from './counts.js';
import { distributionOf, lineOf, rounded, scaled, type Distribution, type Figure } from './figures.js';
import { privateMiBOfTree, useOf, useOfTree, wakeUpsOf, wakeUpsOfTree, type ProcessUse } from './processes.js';

const TIMEOUT_MS = 15 * 60_000;
const REQUESTS_AT_ONCE = 64;
/** Duration of each of the two idle windows. 0: their figures are omitted. */
const IDLE_SECONDS = Number(process.env['FAIRLEAD_BENCH_IDLE_SECONDS'] ?? 60);
/**
 * Start of the first window, in seconds after the last cluster was Ready. Initial work is finished then: the services
 * write positions, agents their first reports, and connections to PostgreSQL opened under load are closed, each of
 * which ends a process. What remains of the burst are V8's collections: 20 to 150 s after it each program marks and
 * sweeps its whole heap once or twice, 0.1 to 0.5 s of CPU each, and returns memory.
 */
const AFTER_BURST_SECONDS = 30;
/**
 * Start of the second one, which is compared with the goal: these collections are finished, and only continuous work is
 * left.
 */
const SETTLE_SECONDS = Number(process.env['FAIRLEAD_BENCH_SETTLE_SECONDS'] ?? 210);
/** Replicas of each service that shares its work among them. */
const REPLICAS = Number(process.env['FAIRLEAD_BENCH_REPLICAS'] ?? 1);
const SCALED_SERVICES = SERVICE_NAMES.filter((name) => name !== 'gateway');
const POLL_MS = 10;
const LAB = 'lab';
const POSTGRES = 'postgres';

interface Size {
  readonly controlPlanes: number;
  readonly workers: number;
}
const SINGLE_NODE: Size = { controlPlanes: 1, workers: 0 };
const FIVE_NODES: Size = { controlPlanes: 3, workers: 2 };
const LARGEST: Size = { controlPlanes: 3, workers: 500 };

const everyEvent = async (system: System): Promise<StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for (let partition = 0; partition < PARTITION_COUNT; partition += 1) {
    for await (const batch of readAll(system.admin, partitionFilter(partition), 0)) {
      events.push(...batch.flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []));
    }
  }
  return events;
};

const uses = (system: System): ReadonlyMap<string, ProcessUse> =>
  new Map(
    [...system.environment.supervisor.status(), ...system.supervisor.status()].flatMap(({ name, pid }) =>
      pid === undefined ? [] : [[name, useOfTree(pid)] as const],
    ),
  );

const requestAll = async (system: System, names: readonly string[], size: Size): Promise<void> => {
  const waiting = [...names];
  await Promise.all(
    Array.from({ length: Math.min(REQUESTS_AT_ONCE, names.length) }, async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        const { status, body } = await system.call('POST', '/ns/default/clusters', clusterBody(name, size));
        if (status !== 202) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
      }
    }),
  );
};

interface Endings {
  /** Resolves when this many clusters of the system are Ready; rejects when one has failed. */
  ready(count: number): Promise<void>;
  close(): void;
}

/** Tracks Ready clusters by pushed events: each query of a thousand clusters' subjects would load the server. */
const watchEndings = ({ admin }: System): Endings => {
  let [readyCount, failed] = [0, ''];
  const subscriptions = ['ClusterReady', 'ClusterFailed'].map((type) =>
    admin.subscribe(storedSubject(`evt.*.*.*.bootstrap.${type}`), {
      callback: (_error, { subject }) => {
        if (type === 'ClusterReady') readyCount += 1;
        else failed = subject;
      },
    }),
  );
  return {
    ready: async (count) => {
      const deadline = Date.now() + TIMEOUT_MS;
      while (readyCount < count) {
        if (failed !== '') throw new Error(`failed: ${failed}`);
        if (Date.now() > deadline)
          throw new Error(`not all of ${count} clusters are Ready after ${TIMEOUT_MS / 60_000} min`);
        await sleep(POLL_MS);
      }
    },
    close: () => subscriptions.forEach((subscription) => subscription.unsubscribe()),
  };
};

interface Goals {
  readonly seconds?: number;
  readonly firstSeconds?: number;
  readonly p50Seconds?: number;
  readonly cpuSecondsOfEach?: number;
  readonly memoryMiB?: number;
  readonly idlePercent?: number;
}

const ONE: Goals = { seconds: 0.5 };
const CLUSTERS_IN_TURN = 10;
const FIVE: Goals = { seconds: 4, idlePercent: 2 };
const THOUSAND_CLUSTERS = 1_000;
const THOUSAND: Goals = {
  seconds: 120,
  firstSeconds: 5,
  p50Seconds: 60,
  cpuSecondsOfEach: 0.2,
  memoryMiB: 1_000,
  idlePercent: 5,
};

/** Single-node clusters, all requested at once, lab delays 0, until every one is Ready; then idle. */
export const benchClusters = (count: number): Promise<Figure[]> => {
  const goals = count === THOUSAND_CLUSTERS ? THOUSAND : {};
  return benchCreation({ count, size: SINGLE_NODE, light: true, goals, what: `${count} clusters` });
};

/** A single-node cluster, lab delays 0, until it is Ready, then the next one; then idle. */
export const benchOne = (): Promise<Figure[]> => {
  const what = `${CLUSTERS_IN_TURN} clusters, one after the other`;
  return benchCreation({ count: CLUSTERS_IN_TURN, inTurn: true, size: SINGLE_NODE, light: true, goals: ONE, what });
};

/**
 * One cluster of 3 control planes and 2 workers, whose hosts are real shells with an agent each, lab delays 0; then
 * idle.
 */
export const benchFiveNodes = (): Promise<Figure[]> =>
  benchCreation({ count: 1, size: FIVE_NODES, light: false, goals: FIVE, what: 'a cluster of 3 + 2' });

/** One cluster of 3 control planes and 500 workers with the default networks, lab delays 0; then idle. */
export const benchLarge = (): Promise<Figure[]> =>
  benchCreation({ count: 1, size: LARGEST, light: true, goals: {}, what: 'a cluster of 3 + 500' });

interface Creation {
  readonly count: number;
  /** Each is requested when the previous one is Ready, instead of all at once. */
  readonly inTurn?: boolean;
  readonly size: Size;
  readonly light: boolean;
  readonly goals: Goals;
  readonly what: string;
}

const benchCreation = async (creation: Creation): Promise<Figure[]> => {
  const { count, light } = creation;
  const system = await startSystem({ light, durable: true });
  const endings = watchEndings(system);
  try {
    for (const service of SCALED_SERVICES) await system.supervisor.scale(service, REPLICAS);
    await requestAll(system, ['warm-up'], SINGLE_NODE);
    await endings.ready(1);
    const before = uses(system);
    const countsBefore = await countsOf(system);
    const seconds = await createAll(system, endings, creation);
    const readyAt = performance.now();
    const after = uses(system);
    const counts = await newCounts(system, countsBefore);
    const postgresMiB = postgresMemory(system);
    const events = await everyEvent(system);
    const idle = await measureIdle(system, readyAt);
    const measured = { ...creation, seconds, before, after, postgresMiB, events, idle };
    const each = { each: 'cluster', count };
    const counted = countFigures(...counts, each).filter(({ name }) => !name.startsWith('CPU'));
    return [...durations(measured), ...costs(measured), ...counted];
  } finally {
    endings.close();
    await system.stop();
  }
};

/** Resolves, when all are Ready, to the seconds taken: in total, or for each one if they are created in turn. */
const createAll = async (
  system: System,
  endings: Endings,
  { count, size, inTurn }: Creation,
): Promise<readonly number[]> => {
  const names = Array.from({ length: count }, (_, index) => `c-${index}`);
  const rounds = inTurn === true ? names.map((name) => [name]) : [names];
  const seconds: number[] = [];
  let expected = 1; // The warm-up.
  for (const round of rounds) {
    const startedAt = performance.now();
    await requestAll(system, round, size);
    expected += round.length;
    await endings.ready(expected);
    seconds.push((performance.now() - startedAt) / 1_000);
  }
  return seconds;
};

/** A PostgreSQL backend reports its work within a second, without a notification. */
const STATISTICS_DELAY_MS = 1_500;

const newCounts = async (system: System, before: readonly Count[]): Promise<[readonly Count[], readonly Count[]]> => {
  await sleep(STATISTICS_DELAY_MS);
  return [before, await countsOf(system)];
};

/** Memory that its processes do not share. */
const postgresMemory = (system: System): number =>
  system.environment.supervisor
    .status()
    .filter(({ name }) => name === POSTGRES)
    .reduce((sum, { pid }) => sum + (pid === undefined ? 0 : privateMiBOfTree(pid)), 0);

/** Idle activity of a program: percent of a core, and wake-ups per second. */
interface Idle {
  readonly cpu: number;
  readonly wakeUps: number;
}

/** The agents of real shells are children of the lab. */
const AGENTS = 'agents';

const idleUses = (system: System): ReadonlyMap<string, Idle> =>
  new Map(
    [...system.environment.supervisor.status(), ...system.supervisor.status()].flatMap(({ name, pid }) => {
      if (pid === undefined) return [];
      const whole = { cpu: useOfTree(pid).cpuSeconds, wakeUps: wakeUpsOfTree(pid) };
      if (name !== LAB) return [[name, whole] as const];
      const own = { cpu: useOf(pid).cpuSeconds, wakeUps: wakeUpsOf(pid) };
      return [
        [LAB, own],
        [AGENTS, { cpu: whole.cpu - own.cpu, wakeUps: whole.wakeUps - own.wakeUps }],
      ] as const;
    }),
  );

/** A time without any request. */
interface IdleWindow {
  readonly name: string;
  /** Seconds after the last cluster was Ready. */
  readonly from: number;
  readonly to: number;
  readonly shares: ReadonlyMap<string, Idle>;
  readonly hasGoal: boolean;
}

const measureIdle = async (system: System, readyAt: number): Promise<readonly IdleWindow[]> => {
  if (IDLE_SECONDS === 0) return [];
  const afterBurst = await idleWindow(system, readyAt, AFTER_BURST_SECONDS);
  const steady = await idleWindow(system, readyAt, SETTLE_SECONDS);
  return [
    { ...afterBurst, name: 'CPU after the burst', hasGoal: false },
    { ...steady, name: 'idle CPU', hasGoal: true },
  ];
};

const idleWindow = async (
  system: System,
  readyAt: number,
  beginsAfter: number,
): Promise<Pick<IdleWindow, 'from' | 'to' | 'shares'>> => {
  const secondsSinceReady = (): number => (performance.now() - readyAt) / 1_000;
  await sleep(Math.max(0, beginsAfter - secondsSinceReady()) * 1_000);
  const [from, before] = [secondsSinceReady(), idleUses(system)];
  await sleep(IDLE_SECONDS * 1_000);
  const [to, after] = [secondsSinceReady(), idleUses(system)];
  const shares = [...after].map(([name, { cpu, wakeUps }]) => {
    const since = before.get(name) ?? { cpu: 0, wakeUps: 0 };
    const spent = { cpu: ((cpu - since.cpu) / (to - from)) * 100, wakeUps: (wakeUps - since.wakeUps) / (to - from) };
    return [name, spent] as const;
  });
  return { from, to, shares: new Map(shares) };
};

interface Measured extends Creation {
  readonly seconds: readonly number[];
  readonly before: ReadonlyMap<string, ProcessUse>;
  readonly after: ReadonlyMap<string, ProcessUse>;
  readonly postgresMiB: number;
  readonly events: readonly StoredEvent[];
  readonly idle: readonly IdleWindow[];
}

/** A number that should be below its goal, if it has one. */
const below = (
  name: string,
  value: number,
  { unit, digits = 1, limit }: { readonly unit: string; readonly digits?: number; readonly limit: number | undefined },
): Figure => ({
  name,
  value: (factor) => `${rounded(value * factor, digits)} ${unit}`,
  ...(limit === undefined ? {} : { goal: `< ${limit} ${unit}`, met: (factor) => value * factor < limit }),
});

const inTurnFigure = (what: string, distribution: Distribution, { seconds = Infinity }: Goals): Figure => ({
  name: `${what}: request to Ready`,
  value: (factor) => lineOf(scaled(distribution, factor), 's', 2),
  goal: `each < ${seconds} s`,
  met: (factor) => distribution.max * factor < seconds,
});

const durations = ({ what, count, seconds, events, goals }: Measured): Figure[] => {
  const requested = new Map(
    events.filter(({ type }) => type === 'ClusterRequested').map(({ meta }) => [meta.cluster, Date.parse(meta.time)]),
  );
  const took = events
    .filter(({ type, meta }) => type === 'ClusterReady' && meta.cluster !== 'warm-up')
    .map(({ meta }) => (Date.parse(meta.time) - (requested.get(meta.cluster) ?? Number.NaN)) / 1_000);
  const [together = Number.NaN, ...others] = seconds;
  if (others.length > 0) return [inTurnFigure(what, distributionOf(seconds), goals)];
  const all = below(`${what}: all Ready after`, together, { unit: 's', digits: 2, limit: goals.seconds });
  if (count === 1) return [all];
  const distribution = distributionOf(took);
  const { firstSeconds = Infinity, p50Seconds = Infinity } = goals;
  return [
    all,
    { name: `${what}: clusters/min`, value: (factor) => rounded((count / together / factor) * 60, 0) },
    {
      name: `${what}: request to Ready`,
      value: (factor) => {
        const { min } = scaled(distribution, factor);
        return `first ${rounded(min)}, ${lineOf(scaled(distribution, factor), 's')}`;
      },
      ...(goals.firstSeconds === undefined
        ? {}
        : {
            goal: `first < ${firstSeconds}, p50 < ${p50Seconds} s`,
            met: (factor) => distribution.min * factor < firstSeconds && distribution.p50 * factor < p50Seconds,
          }),
    },
  ];
};

const costs = ({ what, count, seconds, before, after, events, idle, postgresMiB, goals }: Measured): Figure[] => {
  const cpu = [...after].map(
    ([name, use]) => [name, (use.cpuSeconds - (before.get(name)?.cpuSeconds ?? 0)) / count] as const,
  );
  const memory = [...after].filter(([name]) => name !== POSTGRES).map(([name, { rssMiB }]) => [name, rssMiB] as const);
  const totalSeconds = seconds.reduce((sum, each) => sum + each, 0);
  const memoryMiB = totalOf(memory.filter(([name]) => name !== LAB));
  const { memoryMiB: limit = Infinity } = goals;
  return [
    parts(`${what}: CPU seconds a cluster`, cpu, { unit: 's', digits: 3, limit: goals.cpuSecondsOfEach }),
    { name: `${what}: events/s`, value: (factor) => rounded(events.length / totalSeconds / factor, 0) },
    {
      name: `${what}: memory of all services and NATS (RSS)`,
      value: () =>
        `${rounded(memoryMiB, 0)} MiB (${memory.map(([name, mib]) => `${name} ${rounded(mib, 0)}`).join(', ')}, ${POSTGRES} without what is shared ${rounded(postgresMiB, 0)})`,
      ...(goals.memoryMiB === undefined ? {} : { goal: `< ${limit} MiB`, met: () => memoryMiB < limit }),
    },
    ...idle.flatMap((window) => idleFigures(what, window, goals)),
  ];
};

const idleFigures = (
  what: string,
  { name, from, to, shares, hasGoal }: IdleWindow,
  goals: Goals,
): readonly Figure[] => {
  const when = `${rounded(from, 0)} to ${rounded(to, 0)} s after the last was Ready`;
  const cpu = [...shares].map(([program, { cpu: share }]) => [program, share] as const);
  const wakeUps = [...shares].map(([program, { wakeUps: perSecond }]) => [program, perSecond] as const);
  const each = wakeUps.map(([program, perSecond]) => `${program} ${rounded(perSecond)}`).join(', ');
  return [
    parts(`${what}: ${name}, ${when}`, cpu, {
      unit: '% of a core',
      digits: 2,
      limit: hasGoal ? goals.idlePercent : undefined,
    }),
    { name: `${what}: wake-ups, ${when}`, value: () => `${rounded(totalOf(wakeUps))} per second (${each})` },
  ];
};

const totalOf = (values: readonly (readonly [string, number])[]): number =>
  values.reduce((sum, [, value]) => sum + value, 0);

/** A sum and its parts. */
const parts = (
  name: string,
  values: readonly (readonly [string, number])[],
  { unit, digits, limit }: { readonly unit: string; readonly digits: number; readonly limit: number | undefined },
): Figure => {
  const total = totalOf(values);
  const each = (factor: number): string =>
    values.map(([part, value]) => `${part} ${rounded(value * factor, digits)}`).join(', ');
  return {
    name,
    value: (factor) => `${rounded(total * factor, digits)} ${unit} (${each(factor)})`,
    ...(limit === undefined ? {} : { goal: `< ${limit} ${unit}`, met: (factor) => total * factor < limit }),
  };
};
