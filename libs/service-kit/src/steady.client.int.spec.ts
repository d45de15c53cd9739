import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { SteadyClient } from './steady.client.js';

const message = (type: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
};
const AUTHENTICATED = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const LAST_WORDS = message(
  'E',
  Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'),
);

/** Accepts a login and closes at once, like a backend whose postmaster was just killed. */
const dyingServer = (): Server =>
  createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, LAST_WORDS])));
  });

describe('a pooled connection whose server dies between two uses', () => {
  let server: Server;
  let pool: pg.Pool;

  beforeEach(async () => {
    server = dyingServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    pool = new pg.Pool({ host: '127.0.0.1', port, user: 'u', password: 'p', ssl: false, Client: SteadyClient });
    pool.on('error', () => undefined);
  });
  afterEach(async () => {
    await pool.end();
    await new Promise((resolve) => server.close(resolve));
  });

  it('fails the next query, and nothing else', async () => {
    const client = await pool.connect();
    try {
      await expect(client.query('select 1')).rejects.toThrow(/not queryable|terminat/);
    } finally {
      client.release();
    }
    expect(pool.totalCount).toBe(0);
  });
});
