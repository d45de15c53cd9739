import { describe, expect, it } from '@jest/globals';
import { MsgImpl } from '@nats-io/nats-core/internal';
import { headers, type Msg } from '@nats-io/transport-node';
import { headOf } from './message.head.js';

const utf8 = new TextEncoder();

/** As the client creates it from the server's bytes. */
const received = (head: string): MsgImpl => {
  const bytes = utf8.encode(`${head}{}`);
  const args = { subject: utf8.encode('_INBOX.1'), sid: 1, hdr: bytes.length - 2, size: bytes.length };
  return new MsgImpl(args, bytes, undefined as never);
};

const STORED =
  'NATS/1.0\r\nNats-Msg-Id: 7\r\nNats-Subject: evt.of.the.sender\r\nNats-Stream: EVENTS\r\n' +
  'Nats-Subject: evt.03.default.shop.machines.VmCreated\r\nNats-Sequence: 4711\r\nNats-Num-Pending: 3\r\n\r\n';

describe('the head of a stored message', () => {
  it("is taken from the server's headers, not the sender's", () => {
    const { subject, seq, code } = headOf(received(STORED));
    expect([subject, seq, code]).toEqual(['evt.03.default.shop.machines.VmCreated', 4711, 0]);
  });

  it('is read without the map of all headers, which the client creates only on demand', () => {
    const message = received(STORED);
    headOf(message);
    expect((message as unknown as { _headers?: unknown })._headers).toBeUndefined();
  });

  it('contains why there is no message', () => {
    const { code, description } = headOf(received('NATS/1.0 408 Request Timeout\r\n\r\n'));
    expect([code, description]).toEqual([408, 'Request Timeout']);
    expect(headOf(received('NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n\r\n')).code).toBe(204);
  });

  it('is the same if the client has created the map', () => {
    const map = headers();
    map.append('Nats-Subject', 'evt.of.the.sender');
    map.append('Nats-Subject', 'evt.03.a.b.c.D');
    map.append('Nats-Sequence', '12');
    const message: Pick<Msg, 'headers'> = { headers: map };
    expect(headOf(message)).toEqual({ code: 0, description: '', subject: 'evt.03.a.b.c.D', seq: 12 });
    expect(headOf({ headers: undefined } as never)).toEqual({ code: 0, description: '', subject: '', seq: 0 });
  });
});
