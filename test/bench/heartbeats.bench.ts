import { randomUUID } from 'node:crypto';
import { Heartbeat, heartbeatSubject, HEARTBEAT_INTERVAL_MS } from '@fairlead/contracts';
import { startSystem, type System } from '../system/system.js';
import { fixed, rounded, type Figure } from './figures.js';
import { useOf } from './processes.js';

const AGENTS = 10_000;
const SECONDS = 20;
const TICK_MS = 20;
const SETTLE_MS = 3_000;

const beat = (node: string): Heartbeat =>
  Heartbeat.parse({
    uid: randomUUID(),
    node,
    at: new Date().toISOString(),
    bootId: 'boot',
    agentVersion: '0.1.0',
    revision: 1,
    ready: true,
    kubernetesReady: true,
    software: { kubelet: '1.34.4' },
  });

const pidOf = (system: System, name: string): number =>
  system.supervisor.status().find((status) => status.name === name)?.pid ?? 0;
const natsPid = (system: System): number =>
  system.environment.supervisor.status().find(({ name }) => name.includes('nats'))?.pid ?? 0;

/** The heartbeats of this many agents at their usual interval, and the cost of monitoring them. */
export const benchHeartbeats = async (): Promise<Figure[]> => {
  const system = await startSystem({ light: true });
  try {
    const beats = Array.from({ length: AGENTS }, (_, index) => ({
      subject: heartbeatSubject('bench', `c-${index % 1_000}`, `n-${index}`),
      text: JSON.stringify(beat(`n-${index}`)),
    }));
    // The first heartbeat of each agent, for which upgrade-svc allocates memory; later ones need none.
    for (const { subject, text } of beats) system.admin.publish(subject, text);
    await system.admin.flush();
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const [service, nats] = [pidOf(system, 'upgrade-svc'), natsPid(system)];
    const before = [useOf(service).cpuSeconds, useOf(nats).cpuSeconds] as const;
    const rate = (AGENTS * 1_000) / HEARTBEAT_INTERVAL_MS;
    const startedAt = performance.now();
    let sent = 0;
    while (performance.now() - startedAt < SECONDS * 1_000) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * rate);
      for (; sent < due; sent += 1)
        system.admin.publish(beats[sent % AGENTS]?.subject ?? '', beats[sent % AGENTS]?.text);
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
    await system.admin.flush();
    const share = (index: 0 | 1, pid: number): number => ((useOf(pid).cpuSeconds - before[index]) / SECONDS) * 100;
    const [ofService, ofNats] = [share(0, service), share(1, nats)];
    return [
      {
        name: `${AGENTS} agents' heartbeats every ${HEARTBEAT_INTERVAL_MS / 1_000} s: CPU of a core`,
        value: (factor) => `upgrade-svc ${rounded(ofService * factor)} %, nats-server ${rounded(ofNats * factor)} %`,
        goal: '< 3 % in all services',
        met: (factor) => ofService * factor < 3,
      },
      fixed(`${AGENTS} agents' heartbeats: memory of upgrade-svc`, `${rounded(useOf(service).rssMiB, 0)} MiB`),
    ];
  } finally {
    await system.stop();
  }
};
