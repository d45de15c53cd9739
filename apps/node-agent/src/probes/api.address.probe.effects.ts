import { ApiUpstreams, type EventData } from '@fairlead/contracts';
import { BALANCER } from '@fairlead/node-scripts';
import type { AgentFact } from '../node/agent.facts.js';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import type { Metronome } from '../time/metronome.js';
import type { AddressLooks } from './address.probes.effects.js';
import { serversIn } from './address.report.js';

export interface ApiAddressProbeOptions {
  readonly identity: Pick<EventData<'ApiAddressProbed'>, 'uid' | 'node'>;
  readonly host: Pick<HostPort, 'readFile'>;
  readonly looks: Pick<AddressLooks, 'own' | 'stats'>;
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

/** The backend of the API servers in haproxy's configuration. */
const API_BACKEND = 'api';
/** Rows of the backend that are no server. */
const TOTALS: ReadonlySet<string> = new Set(['FRONTEND', 'BACKEND']);

/** Whether each API server passes the health check; undefined: haproxy does not say. */
export const apiServersIn = (stats: string | undefined): Readonly<Record<string, boolean>> | undefined => {
  const servers = [...(serversIn(stats ?? '').get(API_BACKEND) ?? [])].filter(([name]) => !TOTALS.has(name));
  const known = ApiUpstreams.safeParse(
    Object.fromEntries(servers.toSorted(([one], [other]) => (one < other ? -1 : 1))),
  );
  return known.success && servers.length > 0 ? known.data : undefined;
};

type Look = Pick<EventData<'ApiAddressProbed'>, 'held' | 'upstreams'>;

/**
 * Looks whether this host holds the address of the Kubernetes API, where control planes share one, and which API
 * servers its balancer reaches; states changes.
 */
export class ApiAddressProbe {
  private stated: string | undefined;
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
    let seen: Look | undefined;
    try {
      seen = await this.seen();
      await this.state(seen);
    } catch (error) {
      this.options.log('warn', 'the address of the API could not be looked at', { cause: String(error) });
    }
    if (this.isStopped) return;
    const pauseMs = seen === undefined ? IDLE_INTERVAL_MS : POLL_INTERVAL_MS;
    this.cancel = this.options.metronome.after(pauseMs, () => void this.look());
  }

  private async seen(): Promise<Look | undefined> {
    const { host, looks } = this.options;
    const config = await host.readFile(BALANCER.keepalived);
    const address = config === undefined ? undefined : sharedAddressIn(config);
    if (address === undefined) return undefined;
    if (!looks.own().has(address)) return { held: false };
    const upstreams = apiServersIn(await looks.stats());
    return { held: true, ...(upstreams === undefined ? {} : { upstreams }) };
  }

  private async state(seen: Look | undefined): Promise<void> {
    const { identity, say } = this.options;
    const text = JSON.stringify(seen);
    if (seen === undefined || text === this.stated || performance.now() < this.quietUntilMs) return;
    await say([{ type: 'ApiAddressProbed', data: { ...identity, ...seen } }]);
    this.stated = text;
    this.quietUntilMs = performance.now() + QUIET_MS;
  }
}
