import { wordsOf, type SourceLook } from '@fairlead/contracts';
import type { AgentClock } from '../node/host.ports.js';
import type { Metronome } from '../time/metronome.js';

/** A source of software, as far as it can be inspected without a download. */
export interface Source {
  /** For messages. */
  readonly address: string;
  /** The Kubernetes versions of the source; null if it has no catalogue. Rejects if it cannot be read. */
  releases(): Promise<readonly string[] | null>;
}

/** Delayed, because a starting node already downloads from its source. */
const FIRST_MS = 15_000;
const AGAIN_MS = 10 * 60_000;
/** Shorter, so that a repair is noticed soon. */
const AGAIN_FAILING_MS = 60_000;
const JITTER = 0.5;

export interface SourceWatchOptions {
  readonly source: Source;
  readonly metronome: Metronome;
  readonly clock: AgentClock;
  /** In [0, 1); spreads the requests of a rack's nodes. */
  readonly random: () => number;
}

/** Checks periodically whether the source responds to this node, so that problems are known before an upgrade (B9). */
export class SourceWatch {
  private seen: SourceLook | undefined;
  private isStopped = false;
  private cancel = (): void => undefined;

  constructor(private readonly options: SourceWatchOptions) {}

  /** undefined: not checked yet. */
  get last(): SourceLook | undefined {
    return this.seen;
  }

  start(): void {
    this.next(FIRST_MS);
  }

  stop(): void {
    this.isStopped = true;
    this.cancel();
  }

  private next(ms: number): void {
    const { metronome, random } = this.options;
    this.cancel = metronome.after(ms * (1 + JITTER * random()), () => void this.turn());
  }

  private async turn(): Promise<void> {
    const seen = await this.look();
    if (this.isStopped) return;
    this.seen = seen;
    this.next(seen.failure === null ? AGAIN_MS : AGAIN_FAILING_MS);
  }

  private async look(): Promise<SourceLook> {
    const { source, clock } = this.options;
    const at = clock.now().toISOString();
    try {
      const releases = await source.releases();
      return { at, address: source.address, failure: null, releases: releases === null ? null : [...releases] };
    } catch (error) {
      return { at, address: source.address, failure: wordsOf(error), releases: null };
    }
  }
}
