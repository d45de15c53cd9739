import { EVERY_EVENT } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { RawEvent } from './direct.reader.js';
import { readPass } from './log.pass.js';

type Callback = (error: Error | null, message: Msg) => void;

const PENDING = 3;

const messageWith = (reply: string): Msg =>
  ({ subject: 'evt.1.default.c.bootstrap.WorkerJoined', reply, data: new Uint8Array() }) as unknown as Msg;

/** A server that delivers these replies to any request. */
const serverOf = (replies: readonly string[], created: object = { num_pending: PENDING }): NatsConnection => {
  let deliver: Callback = () => undefined;
  return {
    request: async () => ({ json: () => created }),
    subscribe: (_subject: string, { callback }: { callback: Callback }) => {
      deliver = callback;
      return { unsubscribe: () => undefined };
    },
    publish: (subject: string) => {
      if (subject.includes('MSG.NEXT')) for (const reply of replies) deliver(null, messageWith(reply));
    },
    isClosed: () => false,
  } as unknown as NatsConnection;
};

const seqs = async (nc: NatsConnection): Promise<readonly number[]> => {
  const found: RawEvent[] = [];
  for await (const batch of readPass(nc, EVERY_EVENT, 0)) found.push(...batch);
  return found.map(({ seq }) => seq);
};

const placed = (seq: number, delivered: number): string => `$JS.ACK.EVENTS.a1.1.${seq}.${delivered}.17000.0`;

describe('a pass over the log', () => {
  it('reads sequences from the reply subject for acknowledgements, in both forms', async () => {
    const inDomain = '$JS.ACK.hub.AB12.EVENTS.a1.1.9.3.17000.0.xyz';
    expect(await seqs(serverOf([placed(4, 1), placed(7, 2), inDomain]))).toEqual([4, 7, 9]);
  });

  it('fails if a message is missing', async () => {
    await expect(seqs(serverOf([placed(4, 1), placed(9, 3)]))).rejects.toThrow('message 2 did not come');
  });

  it('fails if the server sends a status instead of a message', async () => {
    await expect(seqs(serverOf([placed(4, 1), '']))).rejects.toThrow('message 2 did not come');
  });

  it('fails if the server creates no consumer', async () => {
    const refused = serverOf([], { error: { description: 'too many consumers' } });
    await expect(seqs(refused)).rejects.toThrow('too many consumers');
  });
});
