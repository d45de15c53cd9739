import { ExternalFailure, type NodeName } from '@fairlead/contracts';
import { Etcd } from '../etcd/etcd.effects.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { keyOf, type EtcdProblem } from './presence.evolve.js';
import { b3Found, type EtcdFound } from '../rules/etcd.rules.js';

/** Problems that persist. Two members, different versions and a missing member also occur during a change. */
const WATCHED: readonly EtcdFound['code'][] = ['B3.members', 'B3.not-started', 'B3.alarms', 'B3.space', 'B3.orphans'];
const PROBLEMS_MAX = 10;
const WORDS_LENGTH_MAX = 600;
const LOOK_LIMIT_MS = 30_000;
/** As for addons: each check runs four commands in an etcd container. */
const LOOKS_PER_ETCD_LOOK = 5;

const bounded = (words: string): string =>
  words.length > WORDS_LENGTH_MAX ? `${words.slice(0, WORDS_LENGTH_MAX)}…` : words;

/** The problems that two checks in a row find, with the messages of the newer one. */
export const agreedOn = (before: readonly EtcdProblem[], now: readonly EtcdProblem[]): readonly EtcdProblem[] => {
  const known = new Set(before.map(keyOf));
  return now.filter((problem) => known.has(keyOf(problem)));
};

export interface EtcdLook {
  readonly api: UpgradeCluster;
  /** Names of the Nodes in the list. */
  readonly listed: readonly { readonly name: string }[];
  readonly controlPlanes: readonly NodeName[];
}

/**
 * Checks etcd of one cluster along with its Nodes: only a problem that two checks in a row find is reported (B3, before
 * any upgrade).
 */
export class EtcdWatch {
  private last: readonly EtcdProblem[] = [];
  private looksLeft = 0;

  /** The next check has to run soon. */
  get isSuspected(): boolean {
    return this.last.length > 0;
  }

  /** undefined: etcd was not checked this time, or did not respond. */
  async look(look: EtcdLook): Promise<readonly EtcdProblem[] | undefined> {
    this.looksLeft -= 1;
    if (this.looksLeft > 0 || look.controlPlanes.length === 0) return undefined;
    const seen = await this.problems(look);
    const findings = seen && agreedOn(this.last, seen);
    this.last = seen ?? [];
    this.looksLeft = this.isSuspected ? 1 : LOOKS_PER_ETCD_LOOK;
    return findings;
  }

  /** A check before an outage and one after it are not two in a row. */
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
      if (error instanceof ExternalFailure || (error instanceof Error && error.name === 'TimeoutError'))
        return undefined;
      throw error;
    }
  }
}
