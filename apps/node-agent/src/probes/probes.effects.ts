import type { EventData, Probe } from '@fairlead/contracts';
import type { AgentFact } from '../node/agent.facts.js';
import type { Ask } from '../change/change.ports.js';
import type { Metronome } from '../time/metronome.js';
import { answered, WELL, type ProbeChange } from './probe.decider.js';

/** A later response counts as a failure, as it does for a user who waits for a page. */
const ANSWER_LIMIT_MS = 2_000;
const OK_MAX = 399;

export interface ProbesOptions {
  readonly identity: Pick<EventData<'ProbeFailed'>, 'uid' | 'node'>;
  readonly ask: Ask;
  readonly metronome: Metronome;
  readonly say: (facts: readonly AgentFact[]) => Promise<void>;
}

/** Runs the desired probes of the node periodically. */
export class Probes {
  private readonly cancels: (() => void)[] = [];
  private asked = '';

  constructor(private readonly options: ProbesOptions) {}

  /** Replaces the set of probes. An unchanged set keeps running. */
  set(probes: readonly Probe[]): void {
    const desired = JSON.stringify(probes);
    if (desired === this.asked) return;
    this.stop();
    this.asked = desired;
    for (const probe of probes) this.begin(probe);
  }

  stop(): void {
    for (const cancel of this.cancels.splice(0)) cancel();
    this.asked = '';
  }

  private begin(probe: Probe): void {
    const { ask, metronome } = this.options;
    let state = WELL;
    let isStopped = false;
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = metronome.after(probe.everyMs, () => void turn());
    };
    const turn = async (): Promise<void> => {
      const answer = await ask(probe.url, ANSWER_LIMIT_MS);
      if (isStopped) return;
      const isWell = answer.kind === 'answered' && answer.status <= OK_MAX;
      const message = answer.kind === 'silent' ? answer.message : `it answers ${answer.status}`;
      const after = answered(state, { isWell, message, atMs: performance.now() });
      state = after.state;
      if (after.change !== undefined) await this.report(probe.name, after.change);
      next();
    };
    next();
    this.cancels.push(() => {
      isStopped = true;
      cancel();
    });
  }

  private report(probe: string, change: ProbeChange): Promise<void> {
    const { identity, say } = this.options;
    return say([
      change.kind === 'failed'
        ? { type: 'ProbeFailed', data: { ...identity, probe, message: change.message } }
        : { type: 'ProbeRecovered', data: { ...identity, probe, failedForMs: change.failedForMs } },
    ]);
  }
}
