import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { poolOfPartitions } from './connections.js';

/** PgBouncer rejects connections with other startup parameters, unless its ignore_startup_parameters lists them. */
const KNOWN_TO_PGBOUNCER = [
  'application_name',
  'client_encoding',
  'database',
  'datestyle',
  'standard_conforming_strings',
  'timezone',
  'user',
];
/** Message length and protocol version. */
const STARTUP_HEAD_BYTES = 8;

/** Forwards everything to PostgreSQL, and records the startup parameters of each connection. */
const forwarder = (port: number, started: string[]): Server =>
  createServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    socket.once('data', (startup) => {
      const words = Buffer.from(startup).toString('utf8', STARTUP_HEAD_BYTES).split('\0');
      started.push(...words.filter((word, index) => index % 2 === 0 && word !== ''));
    });
    socket.pipe(upstream).pipe(socket);
  });

describe('the connections of partitions', () => {
  const started: string[] = [];
  let environment: TestEnvironment;
  let server: Server;

  beforeAll(async () => {
    environment = await testEnvironment();
    server = forwarder(Number(new URL(environment.databases['infra-svc']).port), started);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }, 60_000);

  afterAll(async () => {
    server?.close();
    await environment?.stop();
  });

  it('have their statements planned once, and start with no parameter that PgBouncer rejects', async () => {
    const url = new URL(environment.databases['infra-svc']);
    url.port = String((server.address() as AddressInfo).port);
    const pool = poolOfPartitions('infra-svc-partitions', url.href);
    pool.on('error', () => undefined);
    try {
      expect((await pool.query('show plan_cache_mode')).rows).toEqual([{ plan_cache_mode: 'force_generic_plan' }]);
    } finally {
      await pool.end();
    }
    expect(started).toContain('application_name');
    expect(started.filter((name) => !KNOWN_TO_PGBOUNCER.includes(name.toLowerCase()))).toEqual([]);
  });
});
