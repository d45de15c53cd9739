import { WorldFailure, type NodeName, type OwnHost, type SecretRef, type SshSettings } from '@fairlead/contracts';
import {
  parseResult,
  renderStep,
  type LookResult,
  type RenderedStep,
  type StepName,
  type StepResults,
} from '@fairlead/node-scripts';
import type { HostAddress, HostShell, OpenOptions, SshHop } from '@fairlead/service-kit/ssh';
import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';

/** How patient it is with hosts. */
export interface OwnHostsLimits {
  /** A host that is looked at may be down: nobody waits long for it. */
  readonly look: Pick<OpenOptions, 'triesMax' | 'deadlineMs'>;
  /** A host that is given back may be booting. */
  readonly reset: Pick<OpenOptions, 'triesMax' | 'deadlineMs'>;
  /** How often a reset that leaves something is repeated. */
  readonly resetsMax: number;
  /** What was found is good for so long. */
  readonly freshForMs: number;
}

export const PATIENCE: OwnHostsLimits = {
  look: { triesMax: 2, deadlineMs: 10_000 },
  reset: { triesMax: 6, deadlineMs: 60_000 },
  resetsMax: 2,
  freshForMs: 5_000,
};

const OPERATIONS = { look: 'look at the host', 'kubeadm-reset': 'reset the host' } as const;
type OwnStep = keyof typeof OPERATIONS & StepName;

/** What was found on a host, or why nothing was. */
export type Found =
  { readonly kind: 'found'; readonly look: LookResult } | { readonly kind: 'silent'; readonly words: string };

/** The world of an inventory: reaches its hosts, looks at them, and cleans them. */
export class OwnHosts {
  private readonly found: LRUCache<string, Found>;

  constructor(
    private readonly at: Pick<SshSettings, 'jump'> & { readonly keyRef: SecretRef | null },
    private readonly shell: HostShell,
    private readonly keys: (ref: SecretRef) => Promise<string | undefined>,
    private readonly limits: OwnHostsLimits,
  ) {
    this.found = new LRUCache({ max: 2_000, ttl: limits.freshForMs });
  }

  /** A host that does not answer is an answer too. Some seconds old at most. */
  async look(host: OwnHost, signal: AbortSignal): Promise<Found> {
    signal.throwIfAborted();
    const key = JSON.stringify(host);
    const known = this.found.get(key);
    if (known !== undefined) return known;
    const found = await this.lookNow(host, signal);
    this.found.set(key, found);
    return found;
  }

  /** Resolves when nothing of that incarnation (`of`) is on the host any more. Rejects with WorldFailure, which says what is. */
  async reset(host: OwnHost, of: string, signal: AbortSignal): Promise<void> {
    this.found.delete(JSON.stringify(host));
    const rendered = renderStep('kubeadm-reset', { removeAgent: true, of });
    for (let attempt = 1; ; attempt += 1) {
      const { left } = await this.run(host, rendered, this.limits.reset, signal);
      if (left.length === 0) return;
      if (attempt < this.limits.resetsMax) continue;
      throw new WorldFailure({ operation: OPERATIONS['kubeadm-reset'], target: host.name, message: left.join('; ') });
    }
  }

  private async lookNow(host: OwnHost, signal: AbortSignal): Promise<Found> {
    try {
      return { kind: 'found', look: await this.run(host, renderStep('look', {}), this.limits.look, signal) };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof WorldFailure)) throw error;
      return { kind: 'silent', words: error.message };
    }
  }

  private async run<Step extends OwnStep>(
    host: OwnHost,
    rendered: RenderedStep<Step>,
    patience: Pick<OpenOptions, 'triesMax' | 'deadlineMs'>,
    signal: AbortSignal,
  ): Promise<StepResults[Step]> {
    const { step, script, input, result, limitMs } = rendered;
    const operation = OPERATIONS[step];
    for (let first = true; ; first = false) {
      const session = await this.shell.open(await this.addressOf(host), { ...patience, signal });
      // A connection that was kept since an earlier step may have died unnoticed: then a new one is opened, once.
      const mayBeStale = first && session.attempts === 0;
      try {
        const name = `${step}-${randomUUID().slice(0, 12)}`;
        const { stdout } = await session.run({ name, operation, text: script, input, limitMs }, signal);
        const parsed = result.safeParse(parseResult(stdout));
        if (parsed.success) return parsed.data;
        throw new WorldFailure({ operation, target: host.name, message: 'it ended without the result that it owes' });
      } catch (error) {
        signal.throwIfAborted();
        if (!mayBeStale || !(error instanceof WorldFailure)) throw error;
      } finally {
        session.release();
      }
    }
  }

  private async addressOf(host: OwnHost): Promise<HostAddress> {
    const { jump } = this.at;
    const address = { name: host.name, ...(await this.hopOf(host.name, host)) };
    return jump === undefined ? address : { ...address, jump: await this.hopOf(host.name, jump) };
  }

  private async hopOf(
    target: NodeName,
    { address, port, user, hostKey, keyRef }: Pick<OwnHost, 'address' | 'port' | 'user' | 'hostKey' | 'keyRef'>,
  ): Promise<SshHop> {
    const ref = keyRef ?? this.at.keyRef;
    const privateKey = ref === null ? undefined : await this.keys(ref);
    if (privateKey !== undefined) return { host: address, port, user, hostKey: hostKey ?? null, privateKey };
    throw new WorldFailure({
      operation: 'open SSH',
      target,
      message: `there is no key behind ${ref}`,
      retryable: false,
    });
  }
}
