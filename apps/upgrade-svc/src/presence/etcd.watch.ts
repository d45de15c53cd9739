import { WorldFailure, type NodeName } from '@fairlead/contracts';
import { Etcd } from '../etcd/etcd.effects.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { keyOf, type EtcdProblem } from './presence.evolve.js';
import { b3Found, type EtcdFound } from '../rules/etcd.rules.js';

/** What lasts and does not go away by itself. Two members, other versions and a missing member are also steps of a change. */
const WATCHED: readonly EtcdFound['code'][] = ['B3.members', 'B3.not-started', 'B3.alarms', 'B3.space', 'B3.orphans'];
const PROBLEMS_MAX = 10;
const WORDS_LENGTH_MAX = 600;
const LOOK_LIMIT_MS = 30_000;
/** As addons are looked at: each look runs four commands in a container of etcd. */
const LOOKS_PER_ETCD_LOOK = 5;

const bounded = (words: string): string =>
  words.length > WORDS_LENGTH_MAX ? `${words.slice(0, WORDS_LENGTH_MAX)}…` : words;

/** What two looks in a row agree on, in the words of the newer one. */
export const agreedOn = (before: readonly EtcdProblem[], now: readonly EtcdProblem[]): readonly EtcdProblem[] => {
  const known = new Set(before.map(keyOf));
  return now.filter((problem) => known.has(keyOf(problem)));
};

export interface EtcdLook {
  readonly api: UpgradeCluster;
  /** Names of the Nodes that Kubernetes lists. */
  readonly listed: readonly { readonly name: string }[];
  readonly controlPlanes: readonly NodeName[];
}

/** etcd of one cluster, beside the looks at its Nodes: what two looks in a row agree on counts (B3, before any upgrade). */
export class EtcdWatch {
  private last: readonly EtcdProblem[] = [];
  private looksLeft = 0;

  /** The next look has to come soon. */
  get isSuspected(): boolean {
    return this.last.length > 0;
  }

  /** undefined: this look leaves etcd out, or etcd has not answered. */
  async look(look: EtcdLook): Promise<readonly EtcdProblem[] | undefined> {
    this.looksLeft -= 1;
    if (this.looksLeft > 0 || look.controlPlanes.length === 0) return undefined;
    const seen = await this.problems(look);
    const findings = seen && agreedOn(this.last, seen);
    this.last = seen ?? [];
    this.looksLeft = this.isSuspected ? 1 : LOOKS_PER_ETCD_LOOK;
    return findings;
  }

  /** One look before an outage and one after it do not agree. */
  forget(): void {
    this.last = [];
  }

  private async problems({ api, listed, controlPlanes }: EtcdLook): Promise<readonly EtcdProblem[] | undefined> {
    try {
      const etcd = await new Etcd(api, AbortSignal.timeout(LOOK_LIMIT_MS)).facts(listed);
      const nodes = controlPlanes.map((name) => ({ name, role: 'control-plane' as const }));
      return b3Found({ etcd, nodes })
        .filter(({ code }) => WATCHED.includes(code))
        .slice(0, PROBLEMS_MAX)
        .map(({ code, finding: { sentence, help } }) => ({ code, message: bounded(sentence), help: bounded(help) }));
    } catch (error) {
      if (error instanceof WorldFailure || (error instanceof Error && error.name === 'TimeoutError')) return undefined;
      throw error;
    }
  }
}
