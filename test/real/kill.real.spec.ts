import type { StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SERVICE_NAMES } from '../system/system.js';
import { nodesOf } from './kubectl.js';
import { machinesOf, startRealSystem, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'killed';

/** Times during the creation at which every service is killed, one after the other. */
const MOMENTS: readonly StoredEvent['type'][] = [
  'VmsPlanned',
  'VmCreated',
  'LoadBalancerReady',
  'AgentStarted',
  'NodeInitialized',
  'NodeBootstrapped',
  'ControlPlaneInitialized',
  'NetworkReady',
  'WorkerJoined',
  'ControlPlaneJoined',
  'ControlPlaneReady',
];
/** kubeadm init and joins take seconds; no event marks their middle. */
const IN_THE_MIDDLE_MS = 4_000;

describe('a real creation during which every service is killed repeatedly', () => {
  let system: RealSystem;
  let events: readonly StoredEvent[];
  let kills = 0;

  const killAll = (): void => {
    for (const service of SERVICE_NAMES) system.kill(service);
    kills += SERVICE_NAMES.length;
  };

  const failuresOn = (name: string): readonly string[] =>
    events.flatMap((event) =>
      event.type === 'BootstrapStepFailed' && event.data.node === name
        ? [`${event.data.step}, attempt ${event.data.attempt}: ${event.data.cause.message}`]
        : [],
    );

  beforeAll(async () => {
    system = await startRealSystem();
    const seen = new Set<string>();
    const killer = (async (): Promise<void> => {
      for (const moment of MOMENTS) {
        await system.until(CLUSTER, ({ type }) => type === moment || type === 'ClusterFailed', 10 * MINUTE_MS);
        seen.add(moment);
        killAll();
        if (moment === 'NodeBootstrapped' || moment === 'NetworkReady') setTimeout(killAll, IN_THE_MIDDLE_MS);
      }
    })();
    events = await system.create(CLUSTER);
    await killer;
    expect(seen.size).toBe(MOMENTS.length);
  }, 30 * MINUTE_MS);

  afterAll(() => system?.stop(), 3 * MINUTE_MS);

  it(
    'ends with five Ready nodes',
    async () => {
      expect(kills).toBeGreaterThanOrEqual(MOMENTS.length * SERVICE_NAMES.length);
      const nodes = await nodesOf(await system.kubectl(CLUSTER));
      expect(nodes).toHaveLength(5);
      expect(nodes.every(({ ready }) => ready)).toBe(true);
    },
    MINUTE_MS,
  );

  it('created every machine once', () => {
    const made = events.flatMap((event) => (event.type === 'VmCreated' ? [event.data.machine.name] : []));
    expect(new Set(made).size).toBe(5);
    expect(system.local.hosts.all()).toHaveLength(5);
  });

  it(
    'ran no command twice that changes a host',
    async () => {
      for (const { name, role, leader, providerId } of machinesOf(events)) {
        const host = providerId.split('/').at(-1) ?? '';
        const log = await system.onHost(host, 'sh', '-c', 'cat /var/log/fairlead/kubeadm-*.log');
        const begun = log.match(/Running pre-flight checks$/gm)?.length ?? 0;
        const cleaned = log.match(/^\[reset\]/gm)?.length ?? 0;
        const failures = failuresOn(name);
        // The log is deleted with the host.
        if (begun !== 1) process.stdout.write(`kubeadm on ${name}:\n${log}\n`);
        expect({ name, begun, cleaned, failures }).toEqual({ name, begun: 1, cleaned: 0, failures: [] });
        const done = leader ? /has initialized successfully/ : /This node has joined the cluster/;
        expect({ name, role, done: done.test(log) }).toEqual({ name, role, done: true });
      }
    },
    MINUTE_MS,
  );
});
