import { describe, expect, it } from '@jest/globals';
import { keepalivedConfig } from './keepalived.config.js';

/** The maximum of control planes in a cluster. */
const PEERS = Array.from({ length: 7 }, (_, at) => ({ name: `cp-${at + 1}`, address: `198.51.100.1${at}` }));
/** An advertisement reaches a busy host within this time. */
const HEARD_WITHIN_MS = 100;

/** How long a host waits beyond three missing advertisements (RFC 3768, "skew time"). */
const skewMs = (text: string): number => ((256 - Number(/^ {2}priority (\d+)$/m.exec(text)?.[1])) / 256) * 1_000;

describe('the shared address of control planes whose holder is gone', () => {
  it('is taken by one of the others, whose advertisement reaches all before the next one would take it', () => {
    const shared = { address: '198.51.100.200', routerId: 7, password: 'secret' };
    const waits = PEERS.map((self) => skewMs(keepalivedConfig(shared, self, PEERS)));
    const apart = waits.slice(1).map((wait, at) => wait - (waits[at] ?? wait));
    expect(apart).toHaveLength(6);
    expect(Math.min(...apart)).toBeGreaterThan(HEARD_WITHIN_MS);
    expect(Math.max(...waits)).toBeLessThan(1_000);
  });
});
