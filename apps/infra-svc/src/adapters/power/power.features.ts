import { HostPower, type NodeName } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Emulator } from './emulators.fixtures.js';
import { PowerSwitch } from './power.switch.js';

const LIMITS = { timeoutMs: 10_000, changeMs: 30_000, pollMs: 100 };

export const switchFor = (secrets: ReadonlyMap<string, string>, limits = LIMITS): PowerSwitch =>
  new PowerSwitch({ keys: async (ref) => secrets.get(ref), limits });

export const hostWith = (power: Record<string, unknown>) => ({
  name: 'rack-1' as NodeName,
  power: HostPower.parse(power),
});

/** What a management controller does, whoever made it. */
export const describePower = (
  name: string,
  start: () => Promise<Emulator>,
  group: typeof describe | typeof describe.skip = describe,
): void =>
  group(`the power of a host by ${name}`, () => {
    let emulator: Emulator;
    const act = (action: 'on' | 'off' | 'cycle' | 'status', secrets = emulator.secrets) =>
      switchFor(secrets).act(hostWith(emulator.power), action, AbortSignal.timeout(50_000));

    beforeAll(async () => {
      emulator = await start();
    });
    afterAll(() => emulator.stop());

    it('is on at first, and is switched off and on, each once however often it is requested', async () => {
      expect(await act('status')).toBe('on');
      expect([await act('off'), await act('off'), await act('status')]).toEqual(['off', 'off', 'off']);
      expect([await act('on'), await act('on'), await act('status')]).toEqual(['on', 'on', 'on']);
    });

    it('is on after a cycle, also if it was off', async () => {
      expect([await act('cycle'), await act('status')]).toEqual(['on', 'on']);
      await act('off');
      expect([await act('cycle'), await act('status')]).toEqual(['on', 'on']);
    });

    it('is refused with a wrong password, which is not in the failure', async () => {
      const wrong = new Map(
        [...emulator.secrets].map(([ref, secret]) => [ref, secret.replace('open-sesame', 'wrong-one')]),
      );
      const failure = await act('status', wrong).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: 'ExternalFailure', operation: 'control power', target: 'rack-1' });
      expect(String(failure)).not.toMatch(/wrong-one|127\.0\.0\.1/);
    });
  });
