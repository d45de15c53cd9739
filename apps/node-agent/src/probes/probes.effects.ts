import type { EventData, Probe } from '@fairlead/contracts';
import type { AgentFact } from '../agent/agent.decider.js';
import type { Ask } from '../change/change.ports.js';
import type { Metronome } from '../time/metronome.js';
import { answered, WELL, type ProbeChange } from './probe.decider.js';

/** An answer that comes later is none, for whoever waits for a page. */
const ANSWER_LIMIT_MS = 2_000;
const OK_MAX = 399;

export interface ProbesOptions {
  readonly identity: Pick<EventData<'ProbeFailed'>, 'uid' | 'node'>;
  readonly ask: Ask;
  readonly metronome: Metronome;
  readonly say: (facts: readonly AgentFact[]) => Promise<void>;
}

/** Asks what the node was told to ask, again and again, as long as it is desired. */
export class Probes {
  private readonly cancels: (() => void)[] = [];
  private asked = '';

  constructor(private readonly options: ProbesOptions) {}

  /** From now on these, and no others. The same ones go on as they are. */
  want(probes: readonly Probe[]): void {
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
      if (after.news !== undefined) await this.tell(probe.name, after.news);
      next();
    };
    next();
    this.cancels.push(() => {
      isStopped = true;
      cancel();
    });
  }

  private tell(probe: string, news: ProbeChange): Promise<void> {
    const { identity, say } = this.options;
    return say([
      news.kind === 'failed'
        ? { type: 'ProbeFailed', data: { ...identity, probe, message: news.message } }
        : { type: 'ProbeRecovered', data: { ...identity, probe, failedForMs: news.failedForMs } },
    ]);
  }
}
