import type { StoredEvent } from '@fairlead/contracts';
import { clusterKeyOf, type Poison } from '../projection.js';

/** Which consumers are quarantined for which clusters, and at which event. */
export class QuarantinedClusters {
  private seqs = new Map<string, number>();

  load(quarantined: readonly { readonly consumer: string; readonly poison: Poison }[]): void {
    this.seqs = new Map();
    for (const { consumer, poison } of quarantined) this.add(consumer, poison);
  }

  add(consumer: string, { clusterKey, seq }: Poison): void {
    this.seqs.set(`${consumer}|${clusterKey}`, seq);
  }

  remove(consumer: string, clusterKey: string): void {
    this.seqs.delete(`${consumer}|${clusterKey}`);
  }

  holds(consumer: string, event: StoredEvent): boolean {
    return this.seqs.size > 0 && this.seqs.has(`${consumer}|${clusterKeyOf(event)}`);
  }

  /** The event that failed; undefined: the cluster is not quarantined there. */
  seqOf(consumer: string, clusterKey: string): number | undefined {
    return this.seqs.get(`${consumer}|${clusterKey}`);
  }
}
