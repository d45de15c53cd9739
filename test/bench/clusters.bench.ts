import { partitionFilter, PARTITION_COUNT, type StoredEvent } from '@fairlead/contracts';
import { decode, readAll } from '@fairlead/event-sourcing/jetstream';
import { clusterBody, startSystem, type System } from '../system/system.js';
import { distributionOf, lineOf, rounded, type Figure } from './figures.js';
import { useOfTree, type ProcessUse } from './processes.js';

const TIMEOUT_MS = 15 * 60_000;
const REQUESTS_AT_ONCE = 64;
const IDLE_SECONDS = 10;
const POLL_MS = 250;

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

const cpuOf = (use: ReadonlyMap<string, ProcessUse>): number =>
  [...use.values()].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);

const requestAll = async (system: System, names: readonly string[]): Promise<void> => {
  const waiting = [...names];
  await Promise.all(
    Array.from({ length: Math.min(REQUESTS_AT_ONCE, names.length) }, async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        const { status, body } = await system.call(
          'POST',
          '/ns/default/clusters',
          clusterBody(name, { controlPlanes: 1, workers: 0 }),
        );
        if (status !== 202) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
      }
    }),
  );
};

const finish = async (system: System, count: number): Promise<void> => {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const info = await system.admin.request(
      '$JS.API.STREAM.INFO.EVENTS',
      JSON.stringify({ subjects_filter: 'evt.*.*.*.bootstrap.*' }),
      { timeout: 30_000 },
    );
    const subjects = Object.keys(info.json<{ state: { subjects?: Record<string, number> } }>().state.subjects ?? {});
    const failed = subjects.filter((subject) => subject.endsWith('.ClusterFailed'));
    if (failed.length > 0) throw new Error(`failed: ${failed.slice(0, 3).join(', ')}`);
    if (subjects.filter((subject) => subject.endsWith('.ClusterReady')).length >= count) return;
    if (Date.now() > deadline)
      throw new Error(`not all of ${count} clusters are Ready after ${TIMEOUT_MS / 60_000} min`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
};

const goalOf = (count: number): { readonly text: string; readonly seconds: number } | undefined =>
  count === 1
    ? { text: '< 3 s', seconds: 3 }
    : count === 1_000
      ? { text: '< 240 s (aim: < 120 s)', seconds: 240 }
      : undefined;

/** So many single-node clusters, all asked for at once, lab delays 0, until every one is Ready. */
export const benchClusters = async (count: number): Promise<Figure[]> => {
  const system = await startSystem({ light: true, durable: true });
  try {
    await requestAll(system, ['warm-up']);
    await finish(system, 1);
    const before = uses(system);
    const startedAt = performance.now();
    await requestAll(
      system,
      Array.from({ length: count }, (_, index) => `c-${index}`),
    );
    await finish(system, count + 1);
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = uses(system);
    const events = await everyEvent(system);
    const idle = await idleCpu(system);
    return [...durations(count, seconds, events), ...costs({ count, seconds, before, after, events, idle })];
  } finally {
    await system.stop();
  }
};

const idleCpu = async (system: System): Promise<number> => {
  const before = cpuOf(uses(system));
  await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1_000));
  return ((cpuOf(uses(system)) - before) / IDLE_SECONDS) * 100;
};

const durations = (count: number, seconds: number, events: readonly StoredEvent[]): Figure[] => {
  const asked = new Map(
    events.filter(({ type }) => type === 'ClusterRequested').map(({ meta }) => [meta.cluster, Date.parse(meta.time)]),
  );
  const took = events
    .filter(({ type, meta }) => type === 'ClusterReady' && meta.cluster !== 'warm-up')
    .map(({ meta }) => (Date.parse(meta.time) - (asked.get(meta.cluster) ?? Number.NaN)) / 1_000);
  const goal = goalOf(count);
  return [
    {
      name: `${count} clusters: all Ready after`,
      value: `${rounded(seconds)} s`,
      ...(goal === undefined ? {} : { goal: goal.text, met: seconds < goal.seconds }),
    },
    { name: `${count} clusters: clusters/min`, value: rounded((count / seconds) * 60, 0) },
    { name: `${count} clusters: request to Ready`, value: lineOf(distributionOf(took), 's') },
  ];
};

interface Costs {
  readonly count: number;
  readonly seconds: number;
  readonly before: ReadonlyMap<string, ProcessUse>;
  readonly after: ReadonlyMap<string, ProcessUse>;
  readonly events: readonly StoredEvent[];
  readonly idle: number;
}

const costs = ({ count, seconds, before, after, events, idle }: Costs): Figure[] => {
  const perProcess = [...after].map(([name, use]) => ({
    name,
    cpu: use.cpuSeconds - (before.get(name)?.cpuSeconds ?? 0),
    rss: use.rssMiB,
  }));
  return [
    {
      name: `${count} clusters: CPU seconds a cluster`,
      value: `${rounded((cpuOf(after) - cpuOf(before)) / count, 3)} (${perProcess.map(({ name, cpu }) => `${name} ${rounded(cpu / count, 3)}`).join(', ')})`,
    },
    { name: `${count} clusters: events/s`, value: rounded(events.length / seconds, 0) },
    {
      name: `${count} clusters: memory (RSS, MiB)`,
      value: perProcess.map(({ name, rss }) => `${name} ${rounded(rss, 0)}`).join(', '),
    },
    { name: `${count} clusters: idle CPU of everything`, value: `${rounded(idle)} % of a core` },
  ];
};
