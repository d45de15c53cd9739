import { ExternalFailure, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { FoldCache, makeHandle } from '@fairlead/event-sourcing/jetstream';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LAB, nodeSet, requested, runningMachine, UID } from '../../test/fixtures.js';
import { MemoryLog } from '../../test/memory.log.js';
import { planCluster, providerIdOf } from '../machines/machines.planner.js';
import { machinesProjection, type MachineRow } from '../machines/machines.projection.js';
import type { Connections, InfrastructureProvider, ListedMachine } from '../providers/provider.ports.js';
import { NO_MEMORY, type Memory } from './comparison.planner.js';
import { FindingsLog } from './findings.log.effects.js';
import { ProviderListing } from './listing.effects.js';
import { PlannedMachines } from '../machines/planned.machines.effects.js';
import { recordedOf } from './recorded.rules.js';

const SEEDS = 100;
const LOOKS = 60;
const WORKERS = 12;
const LOOKED = new Set(['VmGone', 'VmsMissing', 'VmReturned', 'VmStopped', 'VmStarted']);

const spec = clusterSpec({ controlPlane: nodeSet(3), workers: [nodeSet(WORKERS)] });
const plans = planCluster(UID, spec, () => []);
const made = plans.map((plan, at) => runningMachine(plan, at + 1));

const begin = async (): Promise<MemoryLog> => {
  const log = new MemoryLog();
  const own = { namespace: 'default', cluster: 'demo', context: 'machines' };
  const facts: Fact[] = [
    { type: 'ClusterAccepted', data: { uid: UID } },
    { type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } },
    ...made.map((machine): Fact => ({ type: 'VmCreated', data: { uid: UID, machine } })),
    { type: 'VmsCreated', data: { uid: UID, machines: made } },
  ];
  await log.say({ ...own, context: 'request' }, requested(spec));
  for (const fact of facts) await log.say(own, fact);
  await log.say({ ...own, context: 'bootstrap' }, { type: 'ClusterReady', data: { uid: UID } } as Fact);
  return log;
};

/** Rows after the first `count` events, because they may lag. */
const rowsOf = (events: readonly StoredEvent[]): readonly MachineRow[] => {
  const rows = new Map<string, MachineRow | undefined>();
  for (const event of events)
    for (const key of machinesProjection.keys(event))
      rows.set(key, machinesProjection.evolve(rows.get(key), event, key));
  return [...rows.values()].filter((row) => row !== undefined);
};

/**
 * One unreliable provider, and two alternating replicas: a stated change must have been in two consecutive responses.
 */
class World {
  readonly away = new Set<NodeName>();
  readonly stopped = new Set<NodeName>();
  /** The absent machines in each response since the memory of the checking replica began. */
  answers: ReadonlySet<NodeName>[] = [];
  private memory: Memory = NO_MEMORY;
  private trouble: 'none' | 'error' | 'lost answer' = 'none';
  private readonly look: ProviderListing;

  constructor(
    readonly log: MemoryLog,
    private readonly random: () => number,
    private readonly lag: { events: number } = { events: 0 },
  ) {
    const handle = makeHandle(log, new FoldCache(10));
    const provider = { listMachines: async () => this.list() } as unknown as InfrastructureProvider;
    const open = { connection: { name: LAB }, provider };
    const connections = { open: async () => open, isCurrent: async () => true } as unknown as Connections;
    const queries = {
      recorded: async () =>
        rowsOf(log.events.slice(0, log.events.length - this.lag.events)).map((row) => recordedOf(row, UID)),
      orphans: async () => [],
    };
    const findings = new FindingsLog(new PlannedMachines(handle), handle);
    this.look = new ProviderListing(connections, queries, findings, { watchTimeoutMs: 60_000 });
  }

  /** Disturbs the provider or the replica. */
  disturb(): void {
    const machine = made[Math.floor(this.random() * made.length)]!.name;
    const draw = this.random();
    this.trouble = 'none';
    if (draw < 0.25) this.away.add(machine);
    else if (draw < 0.45) this.away.delete(machine);
    else if (draw < 0.5) for (const { name } of made.slice(3)) this.away.add(name);
    else if (draw < 0.55) this.away.clear();
    else if (draw < 0.65) this.stopped.add(machine);
    else if (draw < 0.75) this.stopped.delete(machine);
    else if (draw < 0.85) this.trouble = this.random() < 0.5 ? 'error' : 'lost answer';
    else if (draw < 0.9) this.forget(); // Another replica takes over.
    this.lag.events = this.random() < 0.2 ? Math.floor(this.random() * 3) : 0;
  }

  calm(): void {
    this.away.clear();
    this.stopped.clear();
    this.trouble = 'none';
    this.lag.events = 0;
  }

  /** Returns the facts of this check. */
  async next(): Promise<readonly StoredEvent[]> {
    const before = this.log.events.length;
    try {
      this.memory = await this.look.look(LAB, this.memory, new AbortController().signal);
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      this.forget();
    }
    return this.log.events.slice(before).filter(({ type }) => LOOKED.has(type));
  }

  private forget(): void {
    this.memory = NO_MEMORY;
    this.answers = [];
  }

  private list(): readonly ListedMachine[] {
    if (this.trouble !== 'none')
      throw new ExternalFailure({ operation: 'list machines', target: 'lab', message: this.trouble });
    this.answers = [...this.answers.slice(-1), new Set(this.away)];
    return made
      .filter(({ name }) => !this.away.has(name))
      .map((machine) => ({
        ...machine,
        id: providerIdOf(machine),
        uid: UID,
        group: 'default.demo.lab',
        status: this.stopped.has(machine.name) ? 'stopped' : 'running',
      })) as readonly ListedMachine[];
  }
}

const lostIn = (event: StoredEvent): readonly NodeName[] => {
  if (event.type === 'VmGone') return [event.data.node];
  return event.type === 'VmsMissing' ? event.data.nodes : [];
};

/** The decision about a lost machine: to replace it, or why not. */
const decisionIn = (event: StoredEvent): string => {
  if (event.type !== 'VmGone') return 'held';
  return event.data.repair === 'replace' ? 'replaced' : event.data.reason;
};

describe('checks of an unreliable provider', () => {
  it(`state what two consecutive responses showed, each change once, and agree with the provider in the end (${SEEDS} seeds)`, async () => {
    const seen: Record<string, number> = {};
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const world = new World(await begin(), seededRandom(seed));
      const lost = new Map<string, string>();
      const stopped = new Set<string>();
      for (let at = 0; at < LOOKS; at += 1) {
        world.disturb();
        for (const event of await world.next()) {
          seen[event.type] = (seen[event.type] ?? 0) + 1;
          const context = `seed ${seed}, look ${at}: ${event.type} ${JSON.stringify(event.data)}`;
          for (const name of lostIn(event)) {
            const [before, now] = world.answers;
            if (before?.has(name) !== true || now?.has(name) !== true) throw new Error(context);
            // A decision is stated once, and none follows a replacement.
            const decided = lost.get(name);
            if (decided === decisionIn(event) || decided === 'replaced') throw new Error(context);
            seen['reconsidered'] = (seen['reconsidered'] ?? 0) + (decided === undefined ? 0 : 1);
            lost.set(name, decisionIn(event));
          }
          const { node } = event.data as { node?: string };
          if (event.type === 'VmReturned' && !lost.delete(node!)) throw new Error(context);
          if (event.type === 'VmStopped' && (stopped.has(node!) || !stopped.add(node!))) throw new Error(context);
          if (event.type === 'VmStarted' && !stopped.delete(node!)) throw new Error(context);
        }
      }
      world.calm();
      for (let at = 0; at < 5; at += 1)
        for (const { type, data } of await world.next()) {
          const { node } = data as { node: string };
          if (type === 'VmReturned') lost.delete(node);
          if (type === 'VmStarted') stopped.delete(node);
        }
      expect([seed, [...lost.keys()], [...stopped], (await world.next()).length]).toEqual([seed, [], [], 0]);
    }
    // Checks that the seeds cover each of them.
    for (const type of [...LOOKED, 'reconsidered']) expect([type, (seen[type] ?? 0) > SEEDS / 4]).toEqual([type, true]);
  });
});
