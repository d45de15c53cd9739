import type { Lease, TaskLeases } from './task.leases.js';

interface Held {
  readonly scope: string;
  readonly name: string;
  readonly holder: string;
  readonly lost: AbortController;
}

/**
 * Leases in memory with the same contract as the real ones, for specs and simulations. `expire` replaces the passing of
 * time.
 */
export class MemoryLeases {
  private leases: Held[] = [];

  /** The view of one replica. */
  of(holder: string): TaskLeases {
    return {
      acquire: async (scope, name) => this.acquire({ scope, name, holder, lost: new AbortController() }),
      held: async (scope) => this.leases.filter((lease) => lease.scope === scope).map(({ name }) => name),
    };
  }

  /** A replica cannot renew: the signals of its leases abort while it still holds them. */
  lose(holder: string): void {
    for (const { lost, holder: of } of this.leases) if (of === holder) lost.abort(new Error('the lease was lost'));
  }

  /** A replica died, and its leases expired. */
  expire(holder: string): void {
    this.leases = this.leases.filter((lease) => lease.holder !== holder);
  }

  private acquire(asked: Held): Lease | undefined {
    if (this.leases.some(({ scope, name }) => scope === asked.scope && name === asked.name)) return undefined;
    this.leases.push(asked);
    return {
      signal: asked.lost.signal,
      release: async () => {
        this.leases = this.leases.filter((lease) => lease !== asked);
      },
    };
  }
}
