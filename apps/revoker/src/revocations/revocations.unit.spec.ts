import { expect, it } from '@jest/globals';
import { Revoker, type RevokerParts } from './revocations.effects.js';

it('A revoker that is stopped ends although NATS never answers its question', async () => {
  let asked = 0;
  const log: RevokerParts['log'] = {
    read: () => {
      asked += 1;
      return new Promise(() => undefined);
    },
  };
  const parts = { log, now: () => new Date(0), isUp: () => true, say: () => undefined } as unknown as RevokerParts;
  const revoker = new Revoker(parts);
  const running = revoker.run();
  expect(asked).toBe(1);
  revoker.stop();
  await expect(running).resolves.toBeUndefined();
});
