import { ExternalFailure } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { FakeCloud, FakeProvider } from '../../test/fake.provider.js';
import type { MachineGroup, ProviderOperation } from '../providers/provider.ports.js';
import { limitedProvider } from './limited.provider.js';

const never = new AbortController().signal;

/** Ignores its signal, too. */
const hanging = (operation: ProviderOperation) => {
  const hung = new FakeProvider(new FakeCloud());
  const forever = (): Promise<never> => new Promise(() => undefined);
  Object.assign(hung, { listSpecs: forever, deleteGroup: forever });
  hung.ensureMachines = async function* () {
    yield await forever();
  };
  return { operation, provider: limitedProvider(hung, 'lab') };
};

describe('a hanging call to a provider', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('ends after its time limit with its operation, its connection and a message', async () => {
    const { provider, operation } = hanging('list specs');
    const failure = provider.listSpecs(never).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(110_000);
    expect(await failure).toBeInstanceOf(ExternalFailure);
    expect(await failure).toMatchObject({ operation, target: 'lab', message: 'no answer within 110 s' });
  });

  it('may take minutes if it deletes', async () => {
    const { provider, operation } = hanging('delete machines');
    const failure = provider.deleteGroup({} as MachineGroup, never).catch((error: unknown) => error);
    const ended = jest.fn();
    void failure.then(ended);
    await jest.advanceTimersByTimeAsync(8 * 60_000);
    expect(ended).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(await failure).toMatchObject({ operation, target: 'lab', message: 'no answer within 9 min' });
  });

  it("ends with its caller, with the caller's reason", async () => {
    const { provider } = hanging('list specs');
    const caller = new AbortController();
    const failure = provider.listSpecs(caller.signal).catch((error: unknown) => error);
    caller.abort(new Error('the service is stopping'));
    expect(await failure).toEqual(new Error('the service is stopping'));
  });

  it('ends the wait for machines after their timeout', async () => {
    const { provider } = hanging('create machines');
    const late = new AbortController();
    const failure = (async () => {
      for await (const answer of provider.ensureMachines({ machines: [] } as never, late.signal)) return answer;
      return undefined;
    })().catch((error: unknown) => error);
    late.abort(new Error('their time is over'));
    expect(await failure).toEqual(new Error('their time is over'));
  });
});

describe('a provider with limits', () => {
  it('releases all memory of a finished call', async () => {
    const fake = new FakeProvider(new FakeCloud());
    const signals: AbortSignal[] = [];
    fake.listMachines = async (signal) => {
      signals.push(signal);
      return [];
    };
    const waiting = new AbortController();
    const provider = limitedProvider(fake, 'lab');
    await provider.listMachines(waiting.signal);
    for await (const answer of provider.ensureMachines({ machines: [] } as never, waiting.signal))
      signals.push(answer as never);
    expect([...signals, waiting.signal].map((signal) => getEventListeners(signal, 'abort').length)).toEqual([0, 0]);
  });

  it('returns the results and has the capabilities of the provider', async () => {
    const provider = limitedProvider(new FakeProvider(new FakeCloud()), 'lab');
    expect(await provider.resolveRegion('lab-1', never)).toMatchObject({ name: 'lab-1' });
    expect([provider.recover, provider.accept, provider.checkCapacity]).toEqual([undefined, undefined, undefined]);
  });

  it('fails with the error of the provider', async () => {
    const before = async (): Promise<void> => {
      throw new ExternalFailure({ operation: 'list specs', target: 'lab', message: 'HTTP 503' });
    };
    const provider = limitedProvider(
      new FakeProvider(new FakeCloud(), { before, after: async () => undefined }),
      'lab',
    );
    await expect(provider.listSpecs(never)).rejects.toMatchObject({ message: 'HTTP 503' });
  });
});
