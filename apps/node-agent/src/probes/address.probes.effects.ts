import type { AddressReport, EventData, NodeLoadBalancing } from '@fairlead/contracts';
import type { AgentFact } from '../node/agent.facts.js';
import type { AgentLog } from '../node/host.ports.js';
import type { Metronome } from '../time/metronome.js';
import { pauseAfter, reportsOf } from './address.report.js';
import { answered, WELL, type ProbeState } from './probe.decider.js';

/** How a host observes its virtual addresses. None of these rejects. */
export interface AddressLooks {
  /** haproxy's statistics as CSV; undefined if it does not respond. */
  stats(): Promise<string | undefined>;
  /** Whether the port accepts a connection. */
  connects(address: string, port: number): Promise<boolean>;
  /** Addresses of the host's interfaces. */
  own(): ReadonlySet<string>;
}

export interface AddressProbesOptions {
  readonly identity: Pick<EventData<'VirtualAddressesProbed'>, 'uid' | 'node'>;
  readonly looks: AddressLooks;
  readonly metronome: Metronome;
  readonly log: AgentLog;
  readonly say: (facts: readonly AgentFact[]) => Promise<void>;
}

const POLL_INTERVAL_MS = 3_000;

/** Probes the virtual addresses of the node, and states changes. */
export class AddressProbes {
  private balancing: NodeLoadBalancing | null = null;
  private readonly ports = new Map<string, ProbeState>();
  private stated = '[]';
  private quietUntilMs = 0;
  private isLooking = false;
  private isStopped = false;
  private cancel = (): void => undefined;

  constructor(private readonly options: AddressProbesOptions) {}

  /** Sets the addresses to probe; null: none. */
  set(balancing: NodeLoadBalancing | null): void {
    this.balancing = balancing;
    void this.look();
  }

  stop(): void {
    this.isStopped = true;
    this.cancel();
  }

  private async look(): Promise<void> {
    if (this.isLooking || this.isStopped) return;
    this.isLooking = true;
    this.cancel();
    try {
      const reports = this.balancing === null ? [] : await this.reports(this.balancing);
      await this.state(reports);
    } catch (error) {
      this.options.log('warn', 'virtual addresses could not be looked at', { cause: String(error) });
    } finally {
      this.isLooking = false;
    }
    // Without addresses there is nothing to probe, but their removal may still have to be stated.
    if (!this.isStopped && (this.balancing !== null || this.stated !== '[]'))
      this.cancel = this.options.metronome.after(POLL_INTERVAL_MS, () => void this.look());
  }

  private async reports(balancing: NodeLoadBalancing): Promise<AddressReport[]> {
    const { looks } = this.options;
    const asked = balancing.addresses.flatMap(({ name, address, transports }) =>
      transports.map((transport) => ({ id: `${name}.${transport.name}`, address, port: transport.frontendPort })),
    );
    const [stats, ...answers] = await Promise.all([
      looks.stats(),
      ...asked.map(({ address, port }) => looks.connects(address, port)),
    ]);
    const reached = new Map(asked.map(({ id }, at) => [id, this.isReached(id, answers[at] === true)]));
    return reportsOf(balancing, { stats, own: looks.own(), reached });
  }

  /** A single connection may be lost for any reason: two in a row count as a failure. */
  private isReached(id: string, isWell: boolean): boolean {
    const before = this.ports.get(id) ?? { ...WELL, isReported: true };
    const { state } = answered(before, { isWell, message: '', atMs: performance.now() });
    this.ports.set(id, state);
    return !state.isReported;
  }

  private async state(addresses: AddressReport[]): Promise<void> {
    const { identity, say } = this.options;
    const text = JSON.stringify(addresses);
    if (text === this.stated || performance.now() < this.quietUntilMs) return;
    await say([{ type: 'VirtualAddressesProbed', data: { ...identity, addresses } }]);
    this.stated = text;
    this.quietUntilMs = performance.now() + pauseAfter(text.length);
  }
}
