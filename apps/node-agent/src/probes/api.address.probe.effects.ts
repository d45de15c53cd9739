import type { EventData } from '@fairlead/contracts';
import { BALANCER } from '@fairlead/node-scripts';
import type { AgentFact } from '../node/agent.facts.js';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import type { Metronome } from '../time/metronome.js';
import type { AddressLooks } from './address.probes.effects.js';

export interface ApiAddressProbeOptions {
  readonly identity: Pick<EventData<'ApiAddressProbed'>, 'uid' | 'node'>;
  readonly host: Pick<HostPort, 'readFile'>;
  readonly looks: Pick<AddressLooks, 'own'>;
  readonly metronome: Metronome;
  readonly log: AgentLog;
  readonly say: (facts: readonly AgentFact[]) => Promise<void>;
}

const POLL_INTERVAL_MS = 3_000;
/** On a host that balances no API, or not yet. */
const IDLE_INTERVAL_MS = 15_000;
/** An address that moves all the time must not fill the log. */
const QUIET_MS = 10_000;

/** The address in the keepalived configuration of the API; undefined: there is none. */
export const sharedAddressIn = (config: string): string | undefined =>
  /virtual_ipaddress \{\s*([^/\s]+)/.exec(config)?.[1];

/** Looks whether this host holds the address of the Kubernetes API, where control planes share one, and states changes. */
export class ApiAddressProbe {
  private stated: boolean | undefined;
  private quietUntilMs = 0;
  private isStopped = false;
  private cancel = (): void => undefined;

  constructor(private readonly options: ApiAddressProbeOptions) {}

  start(): void {
    void this.look();
  }

  stop(): void {
    this.isStopped = true;
    this.cancel();
  }

  private async look(): Promise<void> {
    let held: boolean | undefined;
    try {
      held = await this.isHeld();
      await this.state(held);
    } catch (error) {
      this.options.log('warn', 'the address of the API could not be looked at', { cause: String(error) });
    }
    if (this.isStopped) return;
    const pauseMs = held === undefined ? IDLE_INTERVAL_MS : POLL_INTERVAL_MS;
    this.cancel = this.options.metronome.after(pauseMs, () => void this.look());
  }

  private async isHeld(): Promise<boolean | undefined> {
    const { host, looks } = this.options;
    const config = await host.readFile(BALANCER.keepalived);
    const address = config === undefined ? undefined : sharedAddressIn(config);
    return address === undefined ? undefined : looks.own().has(address);
  }

  private async state(held: boolean | undefined): Promise<void> {
    const { identity, say } = this.options;
    if (held === undefined || held === this.stated || performance.now() < this.quietUntilMs) return;
    await say([{ type: 'ApiAddressProbed', data: { ...identity, held } }]);
    this.stated = held;
    this.quietUntilMs = performance.now() + QUIET_MS;
  }
}
