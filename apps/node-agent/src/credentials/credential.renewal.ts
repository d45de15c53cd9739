import { AGENT_PATHS, wordsOf } from '@fairlead/contracts';
import { claimsOfCreds, withJwt } from '@fairlead/embedded/credentials';
import type { AgentClock, AgentLog, HostPort } from '../node/host.ports.js';
import type { Platform } from '../agent/agent.ports.js';
import { replaceFile } from '../software/item.js';
import type { Metronome } from '../time/metronome.js';

/** Share of its validity after which a credential is renewed; the rest covers outages of the services. */
const RENEW_AT = 1 / 3;
const RETRY_MS = 60_000;
const RETRY_JITTER = 0.5;
/** JavaScript timers do not support longer delays. */
const WAIT_MAX_MS = 24 * 60 * 60_000;

export interface CredentialRenewalParts {
  readonly platform: Pick<Platform, 'renew' | 'useCredentials' | 'useAuthorities' | 'onConnected'>;
  readonly host: HostPort;
  readonly metronome: Metronome;
  readonly clock: AgentClock;
  readonly random: () => number;
  readonly log: AgentLog;
}

/** Stores the CAs in the agent's configuration, which bootstrap-svc wrote and a later start reads. */
const keepAuthorities = async (host: HostPort, natsCa: string): Promise<void> => {
  const text = await host.readFile(AGENT_PATHS.config);
  if (text === undefined) return;
  const config = { ...(JSON.parse(text) as Record<string, unknown>), natsCa };
  await replaceFile(host, AGENT_PATHS.config, `${JSON.stringify(config, undefined, 2)}\n`, 0o600);
};

/**
 * Renews the node's NATS credential: the services sign new claims for the same user, whose seed never leaves the host.
 */
export class CredentialRenewal {
  private cancel = (): void => undefined;
  private stopped = false;

  constructor(
    private credentials: string,
    /** CAs of NATS, PEM; undefined: TLS is not required. */
    private authorities: string | undefined,
    private readonly parts: CredentialRenewalParts,
  ) {}

  start(): void {
    if (this.credentials !== '') this.waitFor(this.dueInMs());
  }

  stop(): void {
    this.stopped = true;
    this.cancel();
  }

  /** 0: due now; infinite: this credential does not expire. */
  private dueInMs(): number {
    const { iat, exp } = claimsOfCreds(this.credentials);
    if (exp === undefined) return Number.POSITIVE_INFINITY;
    const dueAtMs = (iat + (exp - iat) * RENEW_AT) * 1_000;
    return Math.max(0, dueAtMs - this.parts.clock.now().getTime());
  }

  private waitFor(delayMs: number): void {
    if (this.stopped || delayMs === Number.POSITIVE_INFINITY) return;
    this.cancel = this.parts.metronome.after(Math.min(delayMs, WAIT_MAX_MS), () => void this.renewIfDue());
  }

  private async renewIfDue(): Promise<void> {
    const { log, random } = this.parts;
    try {
      if (this.dueInMs() === 0) await this.renew();
      this.waitFor(this.dueInMs());
    } catch (error) {
      log('warn', 'the NATS credential could not be renewed; trying again', { cause: wordsOf(error) });
      this.waitFor(RETRY_MS * (1 - RETRY_JITTER * random()));
    }
  }

  private async renew(): Promise<void> {
    const { platform, host, log } = this.parts;
    const before = claimsOfCreds(this.credentials);
    const { jwt, natsCa } = await platform.renew(before.sub);
    const renewed = withJwt(this.credentials, jwt);
    const after = claimsOfCreds(renewed);
    if (after.sub !== before.sub || (after.exp ?? 0) <= (before.exp ?? 0))
      throw new Error('the services sent claims of another user, or claims that end no later');
    await replaceFile(host, AGENT_PATHS.credentials, renewed, 0o600);
    this.credentials = renewed;
    platform.useCredentials(renewed);
    log('info', 'the NATS credential was renewed', { until: new Date((after.exp ?? 0) * 1_000).toISOString() });
    await this.trust(natsCa);
  }

  /** A rotated CA is added to the current one. CAs with which NATS cannot be reached are not stored. */
  private async trust(natsCa: string | undefined): Promise<void> {
    if (natsCa === undefined || this.authorities === undefined || natsCa === this.authorities) return;
    const { platform, host, log } = this.parts;
    try {
      await platform.useAuthorities(natsCa);
      await keepAuthorities(host, natsCa);
      this.authorities = natsCa;
      log('info', 'the authorities of NATS are other ones', {});
    } catch (error) {
      log('error', 'other authorities of NATS cannot be used; the present ones stay', { cause: wordsOf(error) });
    }
  }
}
