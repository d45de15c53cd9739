import { ensureCertificates } from '@fairlead/embedded';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:net';
import { startTestGateway, type Replica, type TestGateway } from '../gateway.fixtures.js';

const folder = newFolder('tls');
const served = join(folder, 'served.pem');
const NAMES = ['127.0.0.1'];
const OPEN = { HOST: '0.0.0.0' };

let gateway: TestGateway;
let first: { readonly ca: string; readonly file: string };
let second: typeof first;

const authority = async (name: string): Promise<typeof first> => {
  const { caFile, serverFile } = await ensureCertificates(join(folder, name), NAMES);
  return { ca: readFileSync(caFile, 'utf8'), file: serverFile };
};

beforeAll(async () => {
  [first, second] = [await authority('first'), await authority('second')];
  copyFileSync(first.file, served);
  gateway = await startTestGateway();
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
  removeFolder(folder);
});

/** The status, or the words of why there is none. */
const version = ({ port }: Replica, ca: string): Promise<number | string> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${gateway.token}` };
    httpsRequest({ host: '127.0.0.1', port, path: '/version', ca, headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .once('error', (error) => resolve(error.message))
      .end();
  });

/** How long the server keeps a connection that sends nothing. */
const silentFor = async ({ port }: Replica): Promise<number> => {
  const socket = connect(port, '127.0.0.1');
  const startedAt = performance.now();
  socket.on('error', () => undefined).resume();
  await new Promise((resolve) => socket.once('close', resolve));
  return performance.now() - startedAt;
};

describe('a gateway that other machines reach', () => {
  it('does not start in plain text, unless that is desired', async () => {
    await expect(gateway.startReplica(OPEN)).rejects.toThrow(/HOST: 0\.0\.0\.0 .*plain text.*TLS_CERT_FILE/);
    const plain = await gateway.startReplica({ ...OPEN, HTTP_PLAIN_TEXT: 'allow' });
    expect((await gateway.ask('GET', '/version', { replica: plain.index })).status).toBe(200);
    await plain.stop();
  });

  it.each([
    ['without a key', { TLS_CERT_FILE: served }, 'set both, or none'],
    ['with files that are not there', { TLS_CERT_FILE: '/none.pem', TLS_KEY_FILE: '/none.pem' }, 'ENOENT'],
  ])('does not start %s', async (_what, files, words) =>
    expect(gateway.startReplica({ ...OPEN, ...(files as Record<string, string>) })).rejects.toThrow(words),
  );

  it('does not start with the key of another certificate', async () =>
    expect(gateway.startReplica({ ...OPEN, TLS_CERT_FILE: first.file, TLS_KEY_FILE: second.file })).rejects.toThrow(
      /TLS_CERT_FILE, TLS_KEY_FILE: .*mismatch/,
    ));

  it('serves TLS only, closes a silent socket after 10 s, and presents a new certificate when its files change', async () => {
    const replica = await gateway.startReplica({ ...OPEN, TLS_CERT_FILE: served, TLS_KEY_FILE: served });
    expect(await version(replica, first.ca)).toBe(200);
    expect(await version(replica, second.ca)).toMatch(/certificate|issuer/);
    expect(await plainAnswer(replica)).not.toContain('200');

    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const silent = silentFor(replica);

    writeFileSync(served, 'half a file');
    await eventually(() => warned.mock.calls.some(([words]) => String(words).includes('is not used')));
    expect(await version(replica, first.ca)).toBe(200);

    copyFileSync(second.file, served);
    await eventually(
      () => version(replica, second.ca),
      (answer) => answer === 200,
      { everyMs: 100 },
    );
    expect(await version(replica, first.ca)).toMatch(/certificate|issuer/);
    // A socket that never begins TLS holds no connection for longer.
    expect(Math.abs((await silent) - 10_000)).toBeLessThan(2_000);
    await replica.stop();
    warned.mockRestore();
  });
});

/** What a client gets that sends a token in plain text. */
const plainAnswer = ({ port }: Replica): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`),
    );
    socket.on('data', (bytes) => (text += bytes.toString('latin1')));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(text));
  });
