import {
  healthCheckOf,
  ManifestHealthCheck,
  unhealthyLimits,
  durationMs,
  type EventData,
  type Fact,
  type HealthCheck,
  type StoredEvent,
} from '@fairlead/contracts';
import { majorityOf } from '@fairlead/domain';
import { STATE_FACTS } from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { Follower } from '@fairlead/event-sourcing/simulation';
import { stored } from '@fairlead/event-sourcing/spec';
import { clusterRequested, machineOf, uid } from '../src/nodes/nodes.fixtures.js';
import { remediation } from '../src/remediation/remediation.decider.js';
import { nodeFact, planFor, START } from '../src/remediation/remediation.fixtures.js';
import { remediationReconciler } from '../src/remediation/remediation.reconciler.js';
import type { Remediation } from '../src/remediation/remediation.state.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LOST_AFTER = 40 * SECOND;
/** Disturbances happen in the first phase; in the second one everything must complete. */
export const STORMY_MS = 8 * HOUR;
const QUIET_MS = 60 * HOUR;
const STEPS_MAX = 50_000;

/** absent: a user deleted its Node object. */
const FAILURES = ['not-ready', 'silent', 'absent'] as const;
type Health = 'well' | (typeof FAILURES)[number];

interface SimNode {
  readonly name: string;
  readonly pool: string;
  health: Health;
  silentSinceMs: number;
  /** The state according to the log. */
  joined: boolean;
  reportedReady: boolean;
  reportedLost: boolean;
  reportedMissing: boolean;
}

const check = (health: object): HealthCheck => healthCheckOf(ManifestHealthCheck.parse(health));

export const CHECKS: Readonly<Record<string, HealthCheck>> = {
  'control-plane': check({ remediation: 'reboot', maxUnhealthy: '100%', retryPeriod: '5m' }),
  web: check({ remediation: 'replace', maxRetries: 2, retryPeriod: '5m' }),
  batch: check({ remediation: 'reboot-then-replace', maxUnhealthy: 2, unhealthyAfter: '2m', maxRetries: 1 }),
};
const SIZES: Readonly<Record<string, number>> = { 'control-plane': 3, web: 5, batch: 6, unchecked: 4 };

/**
 * A cluster whose nodes fail and recover at random, and a service that reconciles it: it crashes between publishing and
 * committing, has downtime, and reads old events afterwards. infra-svc, bootstrap-svc and agents are simulated.
 */
export class HealingWorld {
  readonly log: StoredEvent[] = [];
  readonly violations: string[] = [];
  private readonly nodes = new Map<string, SimNode>();
  private follower = new Follower(remediationReconciler, 'upgrade-svc');
  private position = 0;
  /** By the whole log. */
  private state: Remediation = remediation.initial;
  private nowMs = Date.parse(START);
  private agenda: { readonly atMs: number; readonly order: number; readonly run: () => void }[] = [];
  private order = 0;
  private born = 0;
  private upSinceMs: number | null = this.nowMs;
  private crashes = 0;

  constructor(private readonly random: () => number) {
    this.say(clusterRequested());
    const pools = Object.keys(SIZES).filter((pool) => pool !== 'control-plane');
    const spec = {
      controlPlane: { health: CHECKS['control-plane'] },
      pools: pools.map((name) => (CHECKS[name] === undefined ? { name } : { name, health: CHECKS[name] })),
    };
    this.say({ type: 'ClusterSpecChanged', data: { uid, revision: 1, spec } } as unknown as Fact);
    for (const [pool, count] of Object.entries(SIZES))
      for (let index = 0; index < count; index += 1) this.joined(this.create(pool).name);
    this.say({ type: 'ClusterReady', data: { uid } });
  }

  run(): void {
    const start = this.nowMs;
    for (let at = 0; at < STORMY_MS; at += this.between(2 * MINUTE, 30 * MINUTE))
      this.plan(at, () => this.disturb(start + STORMY_MS));
    this.plan(STORMY_MS, () => this.calm());
    for (let step = 0; step < STEPS_MAX; step += 1) {
      this.read();
      const next = this.next();
      if (next === undefined || next.atMs > start + STORMY_MS + QUIET_MS) return this.checkEnd();
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    throw new Error('it never ends');
  }

  count(type: string): number {
    return this.log.filter((event) => event.type === type).length;
  }

  get crashed(): number {
    return this.crashes;
  }

  // ── the service ──

  /** The next scheduled step; a timer is as durable as its state. */
  private next(): { readonly atMs: number; readonly run: () => void } | undefined {
    this.agenda.sort((one, other) => one.atMs - other.atMs || one.order - other.order);
    const [first] = this.agenda;
    const { wakeAt } = this.follower;
    const wakeMs = wakeAt === null || this.upSinceMs === null ? Infinity : Date.parse(wakeAt);
    if (wakeMs <= (first?.atMs ?? Infinity) && wakeMs !== Infinity)
      return { atMs: wakeMs, run: () => this.follower.wake().forEach((asked) => this.enqueue(asked)) };
    if (first === undefined) return undefined;
    return { atMs: first.atMs, run: () => this.take(first) };
  }

  private take(entry: { readonly run: () => void }): void {
    this.agenda = this.agenda.filter((other) => other !== entry);
    entry.run();
  }

  private enqueue(asked: QueuedTask): void {
    this.plan(this.between(0, 3 * SECOND), () => this.work(asked));
  }

  /** The partition consumer: tasks are published before the commit, so a crash between them publishes them again. */
  private read(): void {
    while (this.upSinceMs !== null && this.position < this.log.length) {
      const event = this.log[this.position];
      if (event === undefined) return;
      const before = this.follower.copy();
      const crashes = this.chance(0.02);
      for (const asked of this.follower.read(event)) this.enqueue(asked);
      if (crashes) {
        this.follower = before;
        this.down(this.between(0, 20 * SECOND));
        return;
      }
      this.position += 1;
    }
  }

  private work(asked: QueuedTask): void {
    if (this.upSinceMs === null) return this.enqueue(asked); // Redelivered once it is up.
    const { state } = this;
    const now = this.now > asked.data.now ? this.now : asked.data.now;
    if (asked.type === STATE_FACTS) return this.say(...this.follower.facts(now, { state }));
    const task = this.follower.taskOf(asked, now, { state });
    if (task === undefined) return;
    const name = String(task.data['node']);
    switch (task.type) {
      case 'ConfirmUnhealthy':
        return this.confirm(asked, name, now);
      case 'RebootNode':
        return this.reboot(name, String(task.data['requestId']));
      case 'WithdrawReboot':
        return this.say(nodeFact('DesiredVersionsSet', name, { revision: 1, software: {}, changesAllowed: false }));
      default:
        throw new Error(`no handler for ${task.type}`);
    }
  }

  private confirm(task: QueuedTask, node: string, now: string): void {
    if (this.nodes.get(node)?.health === 'well') return this.plan(5 * SECOND, () => this.work(task));
    const decided = remediation.decide(this.state, {
      type: 'RequestRemediation',
      data: { uid, node: node as never, now },
    });
    for (const fact of decided as readonly Fact[]) {
      this.judge(fact as Fact<'RemediationRequested'>);
      this.say(fact);
      if (fact.type !== 'RemediationRequested') continue;
      if (fact.data.action === 'replace') this.replace(fact.data);
      else if (fact.data.pool === 'control-plane') this.save(fact.data);
    }
  }

  /** A snapshot of etcd is taken before a control plane reboots, if possible. */
  private save({ requestId, node }: EventData<'RemediationRequested'>): void {
    const cause = { operation: 'save etcd', target: node, message: 'no room' };
    const answer = this.chance(0.2)
      ? nodeFact('EtcdSnapshotFailed', node, { requestId, cause })
      : nodeFact('EtcdSnapshotTaken', node, { requestId, snapshot: requestId });
    this.plan(this.between(SECOND, MINUTE), () => this.say(answer));
  }

  private down(forMs: number): void {
    if (this.upSinceMs === null) return;
    this.crashes += 1;
    this.upSinceMs = null;
    this.plan(forMs, () => {
      this.upSinceMs = this.nowMs;
      for (const { name } of this.nodes.values()) this.reportSoon(name);
    });
  }

  // ── agents, infra-svc and bootstrap-svc ──

  private create(pool: string, requestId?: string): SimNode {
    this.born += 1;
    const name = `${pool}-${this.born}`;
    const node: SimNode = {
      name,
      pool,
      health: 'well',
      silentSinceMs: 0,
      joined: false,
      reportedReady: false,
      reportedLost: false,
      reportedMissing: false,
    };
    this.nodes.set(name, node);
    const machines = [planFor(name, pool)];
    this.say({ type: 'VmsPlanned', data: { uid, machines, ...(requestId === undefined ? {} : { requestId }) } });
    this.say({ type: 'VmCreated', data: { uid, machine: { ...machineOf(name), pool } } } as unknown as Fact);
    return node;
  }

  private joined(name: string): void {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    node.joined = true;
    this.tell(name);
  }

  private gone(name: string): void {
    this.nodes.delete(name);
    this.say(nodeFact('NodeRemoved', name, {}), { type: 'VmDeleted', data: { uid, name } } as unknown as Fact);
  }

  private replace({ requestId, node, pool, order }: EventData<'RemediationRequested'>): void {
    const fails = this.chance(0.2);
    const make = (done: () => void): void => {
      if (fails) return this.failed(requestId, order === 'create-first' ? 'rollback' : 'keep');
      const { name } = this.create(pool, requestId);
      this.plan(this.between(MINUTE, 5 * MINUTE), () => {
        this.joined(name);
        done();
      });
    };
    const remove = (done: () => void): void =>
      this.plan(this.between(SECOND, 3 * MINUTE), () => {
        this.gone(node);
        done();
      });
    if (order === 'create-first') this.plan(SECOND, () => make(() => remove(() => undefined)));
    else remove(() => make(() => undefined));
  }

  private failed(requestId: string, onFailure: 'rollback' | 'keep'): void {
    const cause = { operation: 'create machines', target: 'lab', message: 'no capacity' };
    const data = { uid, requestId, machines: [], onFailure, reason: 'r', step: 's', cause };
    this.say({ type: 'VmsFailed', data } as unknown as Fact);
  }

  private reboot(name: string, id: string): void {
    this.say(nodeFact('DesiredVersionsSet', name, { revision: 1, software: {}, changesAllowed: true, change: { id } }));
    const helps = this.chance(0.6);
    this.plan(this.between(30 * SECOND, 2 * MINUTE), () => {
      const node = this.nodes.get(name);
      if (node === undefined || node.health === 'silent' || !helps) return;
      node.health = 'well';
      this.reportSoon(name);
    });
  }

  /** Reports of an agent, or of its silence; later if the service is down. */
  private tell(name: string): void {
    const node = this.nodes.get(name);
    if (node === undefined || !node.joined || this.upSinceMs === null) return;
    const { health, reportedReady, reportedLost, reportedMissing } = node;
    if (health === 'silent') {
      const silentMs = this.nowMs - Math.max(node.silentSinceMs, this.upSinceMs);
      if (reportedLost) return;
      if (silentMs < LOST_AFTER) return this.plan(LOST_AFTER - silentMs, () => this.tell(name));
      node.reportedLost = true;
      return this.say(nodeFact('NodeLost', name, { lastSeenAt: null, limitMs: LOST_AFTER }));
    }
    if (reportedLost) this.say(nodeFact('NodeRecovered', name, { lostForMs: 0 }));
    const isMissing = health === 'absent';
    if (isMissing !== reportedMissing) this.say(nodeFact(isMissing ? 'NodeMissing' : 'NodeReturned', name, {}));
    if (health === 'well' && !reportedReady) this.say(nodeFact('NodeReady', name, { revision: 1, software: {} }));
    const why = { revision: 1, reason: 'KubernetesNotReady', message: 'kubelet stopped' };
    if (health === 'not-ready' && reportedReady) this.say(nodeFact('NodeNotReady', name, why));
    const isReady = health === 'well' || (isMissing && reportedReady);
    Object.assign(node, { reportedLost: false, reportedMissing: isMissing, reportedReady: isReady });
  }

  private reportSoon(name: string): void {
    this.plan(this.between(0, 20 * SECOND), () => this.tell(name));
  }

  // ── disturbances ──

  private disturb(untilMs: number): void {
    const what = this.random();
    if (what < 0.55) return this.breakNode(this.any(), untilMs);
    if (what < 0.65) {
      for (const node of this.nodes.values()) if (this.chance(0.6)) this.breakNode(node, untilMs, 'silent');
      return;
    }
    if (what < 0.8) return this.down(this.between(SECOND, 40 * MINUTE));
    const [begins, ends] = this.chance(0.5)
      ? ['RolloutStarted', 'RolloutCompleted']
      : ['EtcdRestoreRequested', 'EtcdRestored'];
    this.say({ type: begins, data: { uid } } as unknown as Fact);
    this.plan(this.between(MINUTE, 40 * MINUTE), () => this.say({ type: ends, data: { uid } } as unknown as Fact));
  }

  private breakNode(node: SimNode | undefined, untilMs: number, how?: Health): void {
    if (node?.health !== 'well' || !node.joined) return;
    node.health = how ?? FAILURES[Math.floor(this.random() * FAILURES.length)]!;
    node.silentSinceMs = this.nowMs;
    this.tell(node.name);
    if (this.chance(0.4)) return;
    const forMs = this.chance(0.5) ? this.between(5 * SECOND, 3 * MINUTE) : this.between(MINUTE, 40 * MINUTE);
    this.plan(Math.min(forMs, Math.max(0, untilMs - this.nowMs)), () => {
      node.health = 'well';
      this.tell(node.name);
    });
  }

  /** After the last disturbance: half of the broken nodes recover by themselves. */
  private calm(): void {
    for (const node of this.nodes.values()) {
      if (node.health === 'well' || this.chance(0.5)) continue;
      node.health = 'well';
      this.reportSoon(node.name);
    }
  }

  private any(): SimNode | undefined {
    return [...this.nodes.values()][Math.floor(this.random() * this.nodes.size)];
  }

  // ── what must hold: by the log alone, and by another reckoning than the planner's ──

  private judge({ data }: Fact<'RemediationRequested'>): void {
    const { node, pool, reason, attempt } = data;
    const of = CHECKS[pool];
    if (of === undefined) return this.violate(`${node} of a pool without a health check`);
    const wrong = (what: string): void => this.violate(`${node}: ${what}`);
    const { unwellSince, openNodes, members } = this.reckon();
    if (this.nodes.get(node)?.health === 'well') wrong('it is well');
    if (openNodes.has(node)) wrong('it is being remediated already');
    const since = unwellSince.get(node);
    if (since === undefined || this.nowMs - since < durationMs(of.unhealthyAfter)) wrong('too early');
    const own = members.filter((member) => member.pool === pool);
    const unhealthy = own.filter(({ name }) => openNodes.has(name) || unwellSince.get(name) !== undefined).length;
    const { max } = unhealthyLimits(of, own.length);
    if (unhealthy > Math.max(max, reason.limit)) wrong(`${unhealthy} of ${own.length} are unhealthy, limit ${max}`);
    if (reason.unhealthy > reason.limit) wrong('the numbers of its reason forbid it');
    const dead = members.filter(({ name }) => unwellSince.get(name) !== undefined).length;
    if (members.length >= 5 && dead > members.length * 0.4) wrong('meltdown');
    if (attempt > of.maxRetries + 1) wrong(`attempt ${attempt}`);
    if (this.isOpen('RolloutStarted', 'RolloutCompleted')) wrong('an upgrade is in progress');
    if (this.isOpen('EtcdRestoreRequested', 'EtcdRestored')) wrong('a restore is in progress');
    if (pool === 'control-plane') this.judgeControlPlane(own, { unwellSince, openNodes }, wrong);
  }

  private judgeControlPlane(
    own: readonly { readonly name: string }[],
    { unwellSince, openNodes }: Pick<Reckoning, 'unwellSince' | 'openNodes'>,
    wrong: (what: string) => void,
  ): void {
    if (own.some(({ name }) => openNodes.has(name))) wrong('two control planes at a time');
    const well = own.filter(({ name }) => unwellSince.get(name) === undefined).length;
    if (well < majorityOf(own.length)) wrong(`${well} of ${own.length} control planes are well`);
  }

  /**
   * Computes from the log since when Ready nodes are unhealthy, which are being remediated, and which belong to the
   * cluster.
   */
  private reckon(): Reckoning {
    const unwell = new Map<string, number>();
    const [lost, unready, missing] = [new Set<string>(), new Set<string>(), new Set<string>()];
    const open = new Map<string, string>();
    const members = new Map<string, string>();
    for (const { type, data, meta } of this.log) {
      const node = 'node' in data ? String(data.node) : '';
      if (type === 'VmsPlanned') for (const { name, pool } of data.machines) members.set(name, pool);
      if (type === 'VmDeleted') members.delete(data.name);
      if (type === 'NodeLost') lost.add(node);
      if (type === 'NodeRecovered' || type === 'NodeReady') lost.delete(node);
      if (type === 'NodeNotReady') unready.add(node);
      if (type === 'NodeReady') unready.delete(node);
      if (type === 'NodeMissing') missing.add(node);
      if (type === 'NodeReturned') missing.delete(node);
      if (type === 'RemediationRequested') open.set(data.requestId, node);
      if (type === 'RemediationSucceeded' || type === 'RemediationFailed') open.delete(data.requestId);
      if ([lost, unready, missing].some((one) => one.has(node)))
        unwell.set(node, unwell.get(node) ?? Date.parse(meta.time));
      else unwell.delete(node);
    }
    return {
      unwellSince: unwell,
      openNodes: new Set(open.values()),
      members: [...members].map(([name, pool]) => ({ name, pool })),
    };
  }

  private isOpen(begins: string, ends: string): boolean {
    const last = this.log.findLast(({ type }) => type === begins || type === ends);
    return last?.type === begins;
  }

  /** Every unhealthy node has a recorded reason; no remediation is left open, and no agent has a permission left. */
  private checkEnd(): void {
    const { unwellSince, openNodes, members } = this.reckon();
    const { suspended, skipped, permitted } = this.statements();
    for (const { name, pool } of members) {
      if (openNodes.has(name)) this.violate(`${name} is still being remediated`);
      if (permitted.has(name)) this.violate(`${name} may still be rebooted`);
      if (CHECKS[pool] === undefined || unwellSince.get(name) === undefined) continue;
      if (!suspended.has(pool) && !skipped.has(name))
        this.violate(`${name} is unhealthy, and nothing says why it stays so`);
    }
  }

  private statements(): Record<'suspended' | 'skipped' | 'permitted', ReadonlySet<string>> {
    const suspended = new Map<string, string>();
    const [skipped, permitted] = [new Set<string>(), new Set<string>()];
    for (const { type, data } of this.log) {
      if (type === 'RemediationSuspended') {
        if (suspended.get(data.pool) === data.reason) this.violate(`the suspension of ${data.pool} is stated twice`);
        suspended.set(data.pool, data.reason);
      }
      if (type === 'RemediationResumed' && !suspended.delete(data.pool)) this.violate(`${data.pool} was not suspended`);
      if (type === 'RemediationSkipped') skipped.add(data.node);
      if (type === 'NodeReady' || type === 'NodeReturned') skipped.delete(data.node);
      if (type !== 'DesiredVersionsSet') continue;
      if (data.change === undefined) permitted.delete(data.node);
      else permitted.add(data.node);
    }
    return { suspended: new Set(suspended.keys()), skipped, permitted };
  }

  private violate(what: string): void {
    this.violations.push(`${this.now}: ${what}`);
  }

  // ── time ──

  private get now(): string {
    return new Date(this.nowMs).toISOString();
  }

  private say(...facts: readonly Fact[]): void {
    for (const fact of facts) {
      const event = stored(fact, this.log.length + 1, { time: this.now });
      this.log.push(event);
      this.state = remediation.evolve(this.state, event);
    }
  }

  private plan(inMs: number, run: () => void): void {
    this.order += 1;
    this.agenda.push({ atMs: this.nowMs + inMs, order: this.order, run });
  }

  private between(fromMs: number, toMs: number): number {
    return Math.round(fromMs + this.random() * (toMs - fromMs));
  }

  private chance(probability: number): boolean {
    return this.random() < probability;
  }
}

interface Reckoning {
  readonly unwellSince: ReadonlyMap<string, number>;
  readonly openNodes: ReadonlySet<string>;
  readonly members: readonly { readonly name: string; readonly pool: string }[];
}
