import { describe, expect, it } from '@jest/globals';
import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { FIRST_BYTES_MAX, serverNameIn } from './server.name.rules.js';

/** The first bytes of Node's own TLS client. */
const helloOf = (servername: string | undefined, more: object = {}): Promise<Buffer> =>
  new Promise((resolve) => {
    const socket = new Duplex({ read: () => undefined, write: (chunk: Buffer) => void resolve(chunk) });
    const client = connect({ socket, ...(servername === undefined ? {} : { servername }), ...more });
    client.on('error', () => undefined);
  });

/** The same handshake in records of at most so many bytes. */
const inRecordsOf = (hello: Buffer, size: number): Buffer => {
  const handshake = hello.subarray(5);
  const records = Array.from({ length: Math.ceil(handshake.length / size) }, (_, index) => {
    const part = handshake.subarray(index * size, (index + 1) * size);
    return Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part]);
  });
  return Buffer.concat(records);
};

describe('the server name of a TLS client', () => {
  it('is found once all of its hello has come, and not before', async () => {
    const hello = await helloOf('api.demo.example.org');
    expect(serverNameIn(hello)).toEqual({ kind: 'name', name: 'api.demo.example.org' });
    for (let length = 0; length < hello.length; length += 1)
      expect(serverNameIn(hello.subarray(0, length))).toEqual({ kind: 'more' });
  });

  it('is in lower case', async () =>
    expect(serverNameIn(await helloOf('API.Demo.Example.ORG'))).toEqual({
      kind: 'name',
      name: 'api.demo.example.org',
    }));

  it('is found in a hello that is spread over records', async () => {
    const hello = await helloOf('api.demo.example.org');
    for (const size of [1, 3, 4, 50]) expect(serverNameIn(inRecordsOf(hello, size))).toMatchObject({ kind: 'name' });
  });

  it('is refused where there is none, or what is no name of a cluster', async () => {
    expect(serverNameIn(await helloOf(undefined))).toEqual({ kind: 'refused', reason: 'no-name' });
    expect(serverNameIn(await helloOf('localhost'))).toEqual({ kind: 'refused', reason: 'no-name' });
    expect(serverNameIn(await helloOf('a_b.example.org'))).toEqual({ kind: 'refused', reason: 'no-name' });
  });

  it.each([
    ['a request in plain text', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'not-tls'],
    ['an SSH client', Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'), 'not-tls'],
    ['another message of the handshake', Buffer.from([22, 3, 3, 0, 4, 2, 0, 0, 0]), 'not-tls'],
    ['an empty record', Buffer.from([22, 3, 3, 0, 0]), 'malformed'],
    ['a record that is too long', Buffer.from([22, 3, 3, 0xff, 0xff]), 'malformed'],
    ['a hello that says that it is megabytes', Buffer.from([22, 3, 3, 0, 4, 1, 0xff, 0xff, 0xff]), 'too-long'],
    ['a hello whose parts end beyond it', Buffer.from([22, 3, 3, 0, 6, 1, 0, 0, 2, 3, 3]), 'malformed'],
  ])('is not looked for in %s', (_what, bytes, reason) =>
    expect(serverNameIn(bytes)).toEqual({ kind: 'refused', reason }),
  );

  it('is not waited for beyond a limit, however small the records are', () => {
    const [start, record] = [Buffer.from([22, 3, 3, 0, 4, 1, 0, 0x3f, 0]), Buffer.from([22, 3, 3, 0, 1, 0])];
    const bytes = Buffer.concat([start, ...Array.from({ length: FIRST_BYTES_MAX / record.length }, () => record)]);
    expect(serverNameIn(bytes)).toEqual({ kind: 'refused', reason: 'too-long' });
  });

  it('is read from any bytes without an error: each byte of a hello set to each of some values', async () => {
    const hello = await helloOf('api.demo.example.org');
    for (let at = 0; at < hello.length; at += 1)
      for (const value of [0, 1, 127, 255]) {
        const changed = Buffer.from(hello);
        changed[at] = value;
        expect(['more', 'name', 'refused']).toContain(serverNameIn(changed).kind);
      }
  });
});
