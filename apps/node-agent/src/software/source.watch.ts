import { wordsOf, type SourceLook } from '@fairlead/contracts';
import type { AgentClock } from '../node/host.ports.js';
import type { Metronome } from '../time/metronome.js';

/** Where software comes from, as far as one may look without bringing anything. */
export interface Source {
  /** For people. */
  readonly address: string;
  /** Kubernetes versions that it has; null: it has no catalogue. Rejects when it cannot be read. */
  releases(): Promise<readonly string[] | null>;
}

/** A node that has just started asks its source for enough. */
const FIRST_MS = 15_000;
const AGAIN_MS = 10 * 60_000;
/** A repair must be noticed soon. */
const AGAIN_FAILING_MS = 60_000;
const JITTER = 0.5;

export interface SourceWatchOptions {
  readonly source: Source;
  readonly metronome: Metronome;
  readonly clock: AgentClock;
  /** In [0, 1); all nodes of a rack do not ask at once. */
  readonly random: () => number;
}

/** Looks now and then whether the source answers this node, so that an upgrade need not begin to find out (B9). */
export class SourceWatch {
  private seen: SourceLook | undefined;
  private isStopped = false;
  private cancel = (): void => undefined;

  constructor(private readonly options: SourceWatchOptions) {}

  /** undefined: not looked at yet. */
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
