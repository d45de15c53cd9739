import { describe, expect, it } from '@jest/globals';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { HeartbeatListener } from './heartbeats.listener.js';

const SUBJECT = 'hb.default.demo.demo-w-1';

/** A listener, and the subjects that it reports: those of agents that see their Node object change. */
const listening = () => {
  let hear: (error: null, message: Msg) => void = () => undefined;
  const nats = {
    subscribe: (_subject: string, { callback }: { callback: typeof hear }) => void (hear = callback),
    status: async function* () {},
  } as unknown as NatsConnection;
  const listener = new HeartbeatListener(nats, { now: () => new Date(0) });
  const gone: string[] = [];
  listener.whenNodeChanges((subject) => void gone.push(subject));
  listener.start();
  const heard = (kubernetesReady: unknown, more: object = {}): void => {
    const data = Buffer.from(JSON.stringify({ ...more, kubernetesReady, software: {} }));
    hear(null, { subject: SUBJECT, data } as unknown as Msg);
  };
  return { heard, gone };
};

describe('the heartbeats of a node', () => {
  it.each([
    ['its agent sees the Node object no more', [true, null], 1],
    ['that is not Ready either', [false, null], 1],
    ['it is said again and again', [true, null, null, null], 1],
    ['it is there again meanwhile', [true, null, true, null], 3],
    ['it becomes not Ready, and Ready again', [true, false, false, true], 2],
    ['it stays as it is', [false, false, false], 0],
  ])('report a changed Node object when %s', (_, said, times) => {
    const { heard, gone } = listening();
    for (const one of said) heard(one);
    expect(gone).toEqual(Array.from({ length: times }, () => SUBJECT));
  });

  it('do not report it for a similar text, nor for remains of a longer one', () => {
    const { heard, gone } = listening();
    heard(true);
    heard(true, { bootId: '"kubernetesReady":null' });
    heard(true);
    expect(gone).toEqual([]);
    heard(null, { bootId: 'x'.repeat(90) });
    heard(true);
    heard(true, { bootId: 'y' });
    expect(gone).toEqual([SUBJECT, SUBJECT]);
  });
});
