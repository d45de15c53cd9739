import { setTimeout as sleep } from 'node:timers/promises';
import { HEARTBEAT_INTERVAL_MS, NODE_LOST_AFTER_MS, SERVICES } from '@fairlead/contracts';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { Fleet } from '../system/fleet.js';
import { startSystem, type System } from '../system/system.js';
import { distributionOf, fixed, lineOf, rounded, scaled, type Figure } from './figures.js';
import { useOf } from './processes.js';

const AGENTS = Number(process.env['FAIRLEAD_STORM_AGENTS'] ?? 1_000);
/** Long enough for every client to reach its maximum backoff. */
const AWAY_SECONDS = Number(process.env['FAIRLEAD_STORM_AWAY_SECONDS'] ?? 60);
const RETURN_TIMEOUT_MS = 300_000;
const GOAL_SECONDS = 30;

const cpuOf = ({ supervisor, environment }: System): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...supervisor.status(), ...environment.supervisor.status()]
      .filter(({ name }) => name === 'nats' || SERVICES.some((service) => service === name))
      .map(({ name, pid }) => [name, useOf(pid ?? 0).cpuSeconds]),
  );

/** NATS stops, and returns to agents that all reconnect; the storm ends when the last one was answered. */
export const benchStorm = async (): Promise<Figure[]> => {
  const system = await startSystem({ light: true, durable: true });
  let fleet: Fleet | undefined;
  try {
    fleet = await Fleet.of(system, { agents: AGENTS, heartbeatMs: HEARTBEAT_INTERVAL_MS });
    await sleep(HEARTBEAT_INTERVAL_MS);
    await system.environment.killNats();
    fleet.forget();
    const dead = await fleet.end(0);
    await sleep(AWAY_SECONDS * 1_000);
    const before = cpuOf(system);
    const backAtMs = performance.now();
    await system.environment.startNats();
    await ensureStreams(await system.environment.connect()); // Like `fairlead up`: streams in memory are gone.
    const returns = await fleet.returned(backAtMs, RETURN_TIMEOUT_MS);
    const after = cpuOf(system);
    // Lost nodes have been reported by this time.
    await sleep(NODE_LOST_AFTER_MS + HEARTBEAT_INTERVAL_MS);
    const named = await fleet.lost();
    if (!named.includes(dead)) throw new Error(`${dead} has ended, and is not called lost`);
    const lost = named.filter((name) => name !== dead);
    const connected = distributionOf(returns.map(({ connectedMs }) => connectedMs / 1_000));
    const answered = distributionOf(returns.map(({ answeredMs }) => answeredMs / 1_000));
    const cpu = Object.entries(after).map(
      ([name, seconds]) => `${name} ${rounded(seconds - (name === 'nats' ? 0 : (before[name] ?? 0)))}`,
    );
    const storm = `${AGENTS} agents after ${AWAY_SECONDS} s without NATS`;
    return [
      { name: `${storm}: connected again`, value: (factor) => lineOf(scaled(connected, factor), 's') },
      {
        name: `${storm}: answered by upgrade-svc`,
        value: (factor) => lineOf(scaled(answered, factor), 's'),
        goal: `all < ${GOAL_SECONDS} s`,
        met: (factor) => answered.max * factor < GOAL_SECONDS,
      },
      {
        ...fixed(`${storm}: called lost, but for the one that ended`, `${lost.length}`),
        goal: '0',
        met: () => lost.length === 0,
      },
      fixed(`${storm}: CPU seconds until then`, cpu.join(', ')),
    ];
  } finally {
    await fleet?.stop();
    await system.stop();
  }
};
