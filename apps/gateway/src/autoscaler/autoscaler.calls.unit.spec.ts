import type { Declared } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import type { Opened } from './autoscaler.access.js';
import { AutoscalerCalls } from './autoscaler.calls.js';

const opened = { address: { namespace: 'default', cluster: 'demo' }, uid: 'u', credential: 'c' } as unknown as Opened;

/** A pool of one, whose changes are recorded when the spec lets them. */
const pool = () => {
  const declared = {
    uid: 'u',
    nodes: { a: 'web' },
    spec: { pools: [{ name: 'web', replicas: 1, autoscaling: { min: 0, max: 9 } }] },
  } as unknown as Declared;
  const [web] = declared.spec.pools as { replicas: number }[];
  let record: (() => void) | undefined;
  const commands = {
    declared: async () => declared,
    resize: async (_address: unknown, choose: (of: unknown, all: Declared) => { replicas: number }) => {
      const { replicas } = choose(web, declared);
      await new Promise<void>((resolve) => (record = resolve));
      web!.replicas = replicas;
      return { decided: { events: [], seq: 1 } };
    },
  };
  const { calls } = new AutoscalerCalls(commands as never, { all: async () => [] } as never, {} as never, {} as never);
  const increase = (delta: number, signal: AbortSignal) => {
    const call = calls.NodeGroupIncreaseSize;
    if (call === 'unimplemented') throw new Error('it is offered');
    return call({ opened, request: { id: 'web', delta }, signal });
  };
  const target = async () => {
    const call = calls.NodeGroupTargetSize;
    if (call === 'unimplemented') throw new Error('it is offered');
    return (await call({ opened, request: { id: 'web' }, signal: new AbortController().signal })).targetSize;
  };
  const decided = async () => {
    while (record === undefined) await Promise.resolve();
  };
  const recorded = async () => {
    await decided();
    record?.();
    record = undefined;
  };
  return { increase, target, decided, recorded };
};

const waiting = new AbortController().signal;

describe('an increase that is recorded when its client no longer waits', () => {
  it('is not done again when it is repeated, also while the first is still under way', async () => {
    const { increase, target, decided, recorded } = pool();
    const gone = new AbortController();
    const first = increase(2, gone.signal);
    await decided();
    gone.abort();
    const repetition = increase(2, waiting);
    await recorded();
    await Promise.all([first, repetition]);
    expect(await target()).toBe(3);
  });

  it('is another one after its client has looked at the size, or with another delta', async () => {
    const { increase, target, decided, recorded } = pool();
    for (const delta of [2, 3]) {
      const gone = new AbortController();
      const asked = increase(delta, gone.signal);
      await decided();
      gone.abort();
      await recorded();
      await asked;
    }
    expect(await target()).toBe(6);
    const next = increase(3, waiting);
    await recorded();
    await next;
    expect(await target()).toBe(9);
  });

  it('is not recorded at all when its client had gone before', async () => {
    const { increase, target } = pool();
    const gone = new AbortController();
    gone.abort();
    await expect(increase(1, gone.signal)).rejects.toThrow();
    expect(await target()).toBe(1);
  });
});
