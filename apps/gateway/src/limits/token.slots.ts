import { refuse, type RefusalCode } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { SETTINGS, type Settings } from '../config.js';
import { RefusalError } from '../http/refusal.error.js';

export type Slot = 'streams' | 'waits' | 'audits';

const CODES = {
  streams: 'token.too-many-streams',
  waits: 'token.too-many-waits',
  audits: 'token.too-many-audits',
} as const satisfies Record<Slot, RefusalCode>;

/** One of them may end at any moment. */
const RETRY_AFTER_SECONDS = 5;

/** What lasts longer than an answer: each token may have so many at once at this replica. */
@Injectable()
export class TokenSlots {
  /** Only those that are taken, so never more than there are open responses. */
  private readonly taken = new Map<string, number>();
  private readonly max: Readonly<Record<Slot, number>>;

  constructor(@Inject(SETTINGS) { limits }: Pick<Settings, 'limits'>) {
    this.max = { streams: limits.tokenStreams, waits: limits.tokenWaits, audits: limits.tokenAudits };
  }

  /** Until the response is over; refused when the token has as many as it may. */
  take(slot: Slot, tokenId: string, response: Pick<ServerResponse, 'once'>): void {
    const key = `${slot} ${tokenId}`;
    const others = this.taken.get(key) ?? 0;
    const max = this.max[slot];
    if (others >= max) throw new RefusalError(refuse(CODES[slot], { max })).retryAfter(RETRY_AFTER_SECONDS);
    this.taken.set(key, others + 1);
    response.once('close', () => {
      const left = (this.taken.get(key) ?? 1) - 1;
      if (left === 0) this.taken.delete(key);
      else this.taken.set(key, left);
    });
  }
}
