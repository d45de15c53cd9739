import {
  ExternalFailure,
  wordsOf,
  type AgentConfig,
  type CgroupV1,
  type KubeletSettings,
  type SoftwareVersions,
} from '@fairlead/contracts';
import type { KnownReleases } from '../node/known.releases.js';
import { certificatesOn, type SeenCertificates } from '../certificates/certificates.js';
import { NodeChanges } from '../change/change.effects.js';
import { AgentStops, type Ask } from '../change/change.ports.js';
import { ChangeStore } from '../change/change.store.js';
import { Probes } from '../probes/probes.effects.js';
import type { HostSoftware, SoftwareView } from '../software/host.software.js';
import { cgroupV1On, kubeletSettingsOn } from '../software/kubelet.settings.js';
import { SourceWatch } from '../software/source.watch.js';
import { backoffMs } from '../time/backoff.js';
import type { Metronome } from '../time/metronome.js';
import { booted, decide, revisionOf, type ItemFailure, type Observation } from './agent.decider.js';
import { type AgentFact } from '../node/agent.facts.js';
import { plan } from './agent.planner.js';
import type { AgentClock, AgentLog, HostPort } from '../node/host.ports.js';
import { addressesOn } from '../node/host.addresses.js';
import type { NodeView, NodeWatch, Platform, WatchNode } from './agent.ports.js';
import type { Desired } from '../node/desired.state.js';
import { DesiredSource } from './desired.source.js';
import { FirstReboot } from '../software/first.reboot.js';
import { ensureAll, inspect, type Failed, type Inspection } from '../software/inspection.js';
import type { Journal } from './journal.js';
import { heartbeatOf, metadataOf } from './node.reports.js';
import { SteadyReadiness } from './steady.readiness.js';

/** The maximum delay until drift is found, or until a desired state that the subscription missed is applied. */
const RESYNC_MS = 60_000;
/**
 * Certificates are valid for days to years: unchanged ones are read again after this time, or after a change of the
 * host.
 */
const CERTIFICATES_EVERY_MS = 10 * 60_000;
/** Certificates that expire sooner are read at every drift check. */
const URGENT_MS = 24 * 60 * 60_000;
/**
 * The desired state is pushed when it is decided, and requested after each connect. This interval finds what was lost
 * between the two; each request costs the services some milliseconds.
 */
const ASK_AGAIN_MS = 10 * 60_000;
/** Share of an interval, so that agents that started together spread out. */
const RESYNC_JITTER = 0.1;
/** How long an unrequested difference must last before the node is taken down for it. */
const CONFIRM_MS = 5_000;
const HEARTBEAT_JITTER = 0.1;
const RETRY = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** One decision can lead to the next (NodeInitialized, then NodeReady); more than a few are a bug. */
const DECISIONS_MAX = 10;

export interface AgentParts {
  readonly config: AgentConfig;
  readonly host: HostPort;
  readonly software: HostSoftware;
  readonly releases: KnownReleases;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly ask: Ask;
  /** undefined: a host whose files are not removed. */
  readonly removeFile?: ((path: string) => Promise<void>) | undefined;
  readonly copyFile?: ((from: string, to: string, mode: number) => Promise<void>) | undefined;
  readonly watchNode: WatchNode;
  readonly metronome: Metronome;
  readonly clock: AgentClock;
  readonly random: () => number;
  readonly log: AgentLog;
}

interface HostFacts {
  readonly os: string;
  readonly kernel: string;
  readonly bootId: string;
  readonly bootedAt: string;
}

/** The shell around the decider: inspects, states and acts, one turn at a time. Events only wake it up. */
export class AgentLoop {
  private facts: HostFacts = { os: '', kernel: '', bootId: '', bootedAt: '' };
  private inspection: Inspection | undefined;
  private inspectionDue = true;
  private kubelet: KubeletSettings | undefined;
  private cgroupV1: CgroupV1 | undefined;
  private view: NodeView | undefined;
  private failure: ItemFailure | undefined;
  private failures = 0;
  private cancelRetry = (): void => undefined;
  private turning: Promise<void> | undefined;
  private woken = false;
  private stopped = false;
  private watch: NodeWatch | undefined;
  private lastWait = '';
  /** A heartbeat is pending until a boot is recorded. */
  private owesBeat = false;
  /** Since when the host has continuously differed. */
  private differsSinceMs: number | undefined;
  private cancelConfirmation = (): void => undefined;
  /** The last readiness that Kubernetes reported. */
  private lastReady: boolean | undefined;
  private readonly steadiness = new SteadyReadiness();
  private cancelSteady = (): void => undefined;
  private readonly cancels: (() => void)[] = [];
  private readonly desiredSource: DesiredSource;
  private readonly memory: ChangeStore;
  private readonly changes: NodeChanges;
  private readonly certificates: SeenCertificates = new Map();
  private certificatesDueMs = 0;
  private readonly probes: Probes;
  private readonly source: SourceWatch | undefined;
  private readonly firstReboot: FirstReboot;
  private endWaiting = (): void => undefined;

  constructor(private readonly parts: AgentParts) {
    const { config, host, software, platform, journal, ask, metronome, log, removeFile, copyFile } = parts;
    const identity = { uid: config.uid, node: config.node };
    const say = (facts: readonly AgentFact[]): Promise<void> => parts.journal.record(facts, this.desired.event);
    this.desiredSource = new DesiredSource({ config, platform, journal, log, onNew: () => this.restart() });
    this.memory = new ChangeStore(host, log);
    const sleep = (ms: number): Promise<void> => this.sleep(ms);
    const { profile = {} } = config;
    const store = this.memory;
    const files = { removeFile, copyFile };
    const now = (): Date => parts.clock.now();
    this.changes = new NodeChanges({ identity, host, software, profile, ...files, ask, log, say, now, sleep, store });
    this.firstReboot = new FirstReboot(host, sleep);
    this.probes = new Probes({ identity, ask, metronome, say });
    const { clock, random } = parts;
    const { source } = software;
    this.source = source && new SourceWatch({ source, metronome, clock, random });
  }

  async start(): Promise<void> {
    const { config, host, metronome, random } = this.parts;
    const [os, kernel, bootId, bootedAt] = await Promise.all([
      ...([host.osRelease(), host.kernel(), host.bootId()] as const),
      host.bootedAt(),
    ]);
    this.facts = { os, kernel, bootId, bootedAt: bootedAt.toISOString() };
    // Before any fact is stated, so that facts can name their cause.
    await this.desiredSource.start();
    this.watch = this.parts.watchNode({
      onView: (view) => this.see(view),
      metadata: () => metadataOf(config, this.desired, this.parts.journal.reported),
    });
    this.cancels.push(
      metronome.every(RESYNC_MS, { jitter: RESYNC_JITTER, random }, () => this.lookForDrift()),
      metronome.every(ASK_AGAIN_MS, { jitter: RESYNC_JITTER, random }, () => void this.desiredSource.ask()),
      metronome.every(config.heartbeatIntervalMs, { jitter: HEARTBEAT_JITTER, random }, () => this.beat()),
    );
    this.source?.start();
    this.wake();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.endWaiting();
    this.probes.stop();
    this.source?.stop();
    this.cancelRetry();
    this.cancelConfirmation();
    this.cancelSteady();
    for (const cancel of this.cancels) cancel();
    this.watch?.stop();
    await this.turning;
  }

  /** Sleeps inside a change. Rejects when the agent stops, which leaves the change unfinished as after a crash. */
  private sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => reject(new AgentStops());
      if (this.stopped) return end();
      this.endWaiting = end;
      this.parts.metronome.after(ms, resolve);
    });
  }

  /** Something may have changed: decide again. */
  wake(): void {
    this.woken = true;
    if (this.stopped || this.turning !== undefined) return;
    this.turning = this.turnWhileWoken().finally(() => {
      this.turning = undefined;
    });
  }

  /** Called after the host or its desired state changed. */
  private lookAgain(): void {
    this.certificatesDueMs = 0;
    this.lookForDrift();
  }

  private lookForDrift(): void {
    this.inspectionDue = true;
    this.wake();
  }

  private async turnWhileWoken(): Promise<void> {
    while (this.woken && !this.stopped) {
      this.woken = false;
      try {
        await this.turn();
      } catch (error) {
        if (error instanceof AgentStops) return;
        // The host itself fails (e.g. a full disk): nothing can be recorded, so this is logged and retried.
        this.parts.log('error', 'a turn failed', { cause: String(error) });
        this.retryLater();
      }
    }
  }

  private async turn(): Promise<void> {
    const { journal, log } = this.parts;
    await this.sayBoot();
    if (this.owesBeat) this.beat();
    if (this.inspectionDue || this.inspection === undefined) await this.look();
    const seen = await this.say();
    const step = plan(journal.reported, seen, {
      announced: journal.isDrained,
      retryDue: this.failure === undefined,
    });
    if (step.do === 'wait' && step.reason !== this.lastWait) log('warn', step.reason);
    this.lastWait = step.do === 'wait' ? step.reason : '';
    if (step.do !== 'ensure') return;
    log('info', 'ensuring', { reason: step.reason });
    await this.act();
  }

  private async look(): Promise<void> {
    this.inspectionDue = false;
    const { software } = this.parts;
    this.probes.set(this.desired.probes ?? []);
    this.parts.releases.learn(this.desired.releases);
    this.kubelet = await kubeletSettingsOn(this.parts.host);
    this.cgroupV1 = await cgroupV1On(this.parts.host);
    const { stages, packages } = this.softwareView();
    const host = await inspect(stages, packages, this.desired.software);
    const seen = await this.withChange(host);
    this.inspection = seen;
    if (seen.kind === 'failed') return this.fail(seen.at);
    if (performance.now() >= this.certificatesDueMs) await this.lookAtCertificates();
    await this.lookAtAddresses();
    const unstaged = await this.changes.stageAhead(this.desired);
    if (unstaged !== undefined) this.fail(unstaged);
    this.timeDifferences(seen.differences.length > 0);
    // Before NodeInitialized, so that its readers can see which images are still being pulled.
    if (seen.differences.length === 0) await software.begin(this.desired.software);
  }

  /** A desired change that is not done comes before the differences that it will resolve anyway. */
  private async withChange(seen: Inspection): Promise<Inspection> {
    if (seen.kind === 'failed') return seen;
    const change = await this.changes.inspect(this.desired);
    const reboot = this.mayRebootFirst ? await this.firstReboot.inspect() : [];
    return { ...seen, differences: [...change, ...seen.differences, ...reboot] };
  }

  /** Only before the host is a node: afterwards, a reboot is part of a change. */
  private get mayRebootFirst(): boolean {
    const { config, journal } = this.parts;
    return config.profile?.rebootWhenRequired === true && journal.reported.standing.status === 'new';
  }

  /** Last: what was installed before may ask for it. */
  private async rebootFirst(): Promise<Failed | undefined> {
    if (!this.mayRebootFirst || (await this.firstReboot.inspect()).length === 0) return undefined;
    await this.parts.journal.addChanged(['reboot']);
    try {
      await this.firstReboot.ensure();
      return undefined;
    } catch (error) {
      if (error instanceof AgentStops) throw error;
      return { item: 'reboot', command: 'systemctl reboot', message: wordsOf(error) };
    }
  }

  private async lookAtCertificates(): Promise<void> {
    const { config, host, journal, clock } = this.parts;
    const certificates = await certificatesOn(host, config.role, this.certificates);
    const text = JSON.stringify(certificates);
    if (certificates.length === 0) return;
    if (text === (await this.memory.read()).certificates) {
      // An expired or expiring certificate is being renewed, possibly by hand, and Fairlead waits for its own renewal.
      const isUrgent = certificates.some(({ expiresAt }) => Date.parse(expiresAt) - clock.now().getTime() < URGENT_MS);
      this.certificatesDueMs = performance.now() + (isUrgent ? 0 : CERTIFICATES_EVERY_MS);
      return;
    }
    const data = { uid: config.uid, node: config.node, certificates };
    await journal.record([{ type: 'CertificatesReported', data }], this.desired.event);
    await this.memory.write({ certificates: text });
  }

  /** The one address of most hosts is known from their provider. */
  private async lookAtAddresses(): Promise<void> {
    const { config, host, journal } = this.parts;
    const addresses = await addressesOn(host);
    if (addresses === undefined) return;
    const { addresses: before } = await this.memory.read();
    const text = JSON.stringify(addresses);
    if (text === before || (before === undefined && addresses.length < 2)) return;
    const data = { uid: config.uid, node: config.node, addresses: [...addresses] };
    await journal.record([{ type: 'NodeAddressesReported', data }], this.desired.event);
    await this.memory.write({ addresses: text });
  }

  /**
   * The host is inspected again when Kubernetes changes the readiness: the differences show why, and none is outdated.
   */
  private see(view: NodeView | undefined): void {
    const before = this.lastReady;
    this.view = view;
    if (view !== undefined) {
      this.lastReady = view.ready;
      this.steadiness.see(view.ready, performance.now());
    }
    if (before === undefined || view === undefined || before === view.ready) return this.wake();
    this.cancelSteady();
    const waitMs = this.steadiness.waitMs(performance.now());
    if (view.ready && waitMs > 0)
      this.cancelSteady = this.parts.metronome.after(Math.ceil(waitMs) + 1, () => this.wake());
    this.lookForDrift();
  }

  private softwareView(): SoftwareView {
    const { config, software, journal } = this.parts;
    const { status } = journal.reported.standing;
    const hasBeenReady = status === 'ready' || status === 'not-ready' || status === 'changing';
    const { node, profile } = config;
    return software.view({
      node,
      profile,
      desired: this.desired.software,
      releases: this.desired.releases,
      hasBeenReady,
    });
  }

  private timeDifferences(differs: boolean): void {
    if (!differs) this.differsSinceMs = undefined;
    else if (this.differsSinceMs === undefined) {
      this.differsSinceMs = performance.now();
      this.cancelConfirmation();
      this.cancelConfirmation = this.parts.metronome.after(CONFIRM_MS, () => this.lookAgain());
    }
  }

  private get isConfirmed(): boolean {
    if (this.desired.revision !== revisionOf(this.parts.journal.reported.standing)) return true;
    return this.differsSinceMs !== undefined && performance.now() - this.differsSinceMs >= CONFIRM_MS;
  }

  private async act(): Promise<void> {
    const unchanged = await this.changes.ensure(this.desired, this.facts.bootId, async () => {
      const failed = await this.ensureHost();
      if (failed !== undefined)
        throw new ExternalFailure({ operation: failed.command, target: failed.item, message: failed.message });
    });
    const failed = unchanged ?? (await this.ensureHost()) ?? (await this.rebootFirst());
    if (failed === undefined) this.failures = 0;
    else this.fail(failed);
    this.watch?.hostChanged();
    this.lookAgain();
  }

  private async ensureHost(): Promise<Failed | undefined> {
    const { journal, log } = this.parts;
    const { changed, failed } = await ensureAll(this.softwareView().stages, (item, ms) =>
      log('debug', 'ensured', { item, ms }),
    );
    if (changed.length > 0) await journal.addChanged(changed);
    return failed;
  }

  /** Heartbeats wait for it: a request to reboot the node must not start on one that has rebooted since. */
  private async sayBoot(): Promise<void> {
    const { journal, log } = this.parts;
    const facts = booted(journal.reported, this.observe());
    if (facts.length === 0) return;
    await journal.record(facts, this.desired.event);
    for (const { type } of facts) log('info', type, { bootId: this.facts.bootId });
  }

  /** States every fact that is due. */
  private async say(): Promise<Observation> {
    const { journal, log } = this.parts;
    for (let count = 0; count < DECISIONS_MAX; count += 1) {
      const seen = this.observe();
      const facts = decide(journal.reported, seen);
      if (facts.length === 0) return seen;
      await journal.record(facts, this.desired.event);
      for (const { type } of facts) log('info', type, { revision: seen.desired.revision });
      // A change of readiness must not wait for the next regular heartbeat.
      this.beat();
      this.watch?.metadataChanged();
    }
    throw new Error(`still facts to state after ${DECISIONS_MAX} decisions`);
  }

  private observe(): Observation {
    const { config, journal } = this.parts;
    const seen = this.inspection;
    return {
      uid: config.uid,
      node: config.node,
      desired: this.desired,
      differences: seen?.kind === 'seen' ? seen.differences : [],
      confirmed: this.isConfirmed,
      software: this.software,
      ...this.facts,
      changed: journal.changed,
      failure: this.failure,
      kubernetes: this.view,
      steady: this.steadiness.waitMs(performance.now()) === 0,
    };
  }

  private fail(at: Failed): void {
    this.failures += 1;
    this.failure = { ...at, attempt: this.failures };
    this.parts.log('warn', 'the host could not be made as desired', { ...this.failure });
    this.retryLater();
  }

  private retryLater(): void {
    this.cancelRetry();
    const delayMs = backoffMs(RETRY, Math.max(this.failures, 1), this.parts.random);
    this.cancelRetry = this.parts.metronome.after(delayMs, () => {
      this.failure = undefined;
      this.lookAgain();
    });
  }

  /** A new desired state may succeed where the previous one failed. */
  private restart(): void {
    this.failures = 0;
    this.failure = undefined;
    this.lookAgain();
  }

  private get desired(): Desired {
    return this.desiredSource.current;
  }

  /** As last observed, otherwise as last reported. */
  private get software(): SoftwareVersions {
    const seen = this.inspection;
    return seen?.kind === 'seen' ? seen.software : (this.parts.journal.reported.software ?? {});
  }

  /**
   * Not before a boot of the host is in the log, because the node counts as back with the first heartbeat. If the boot
   * cannot be recorded, neither can a heartbeat, so this never prolongs a silence.
   */
  private beat(): void {
    const { config, clock, platform, journal } = this.parts;
    const { reported } = journal;
    const { bootId } = this.facts;
    this.owesBeat = !journal.isBootRecorded || booted(reported, this.observe()).length > 0;
    if (this.owesBeat) return platform.ping();
    const now = {
      at: clock.now(),
      bootId,
      reported,
      kubernetes: this.view,
      software: this.software,
      source: this.source?.last,
      kubelet: this.kubelet,
      cgroupV1: this.cgroupV1,
    };
    platform.sendHeartbeat(heartbeatOf(config, now));
    platform.ping();
  }
}
