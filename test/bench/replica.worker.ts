import { parentPort, workerData } from 'node:worker_threads';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import pg from 'pg';
import { joins } from './joins.projection.js';
import { PartitionProbe } from './partition.probe.js';

/** The servers of a replica, and the shared memory for the positions of its partitions. */
export interface ReplicaData {
  readonly natsUrl: string;
  readonly creds: Uint8Array | undefined;
  readonly databaseUrl: string;
  readonly reached: Int32Array;
}

const { natsUrl, creds, databaseUrl, reached } = workerData as ReplicaData;
const nc = await connect({
  servers: natsUrl,
  ...(creds === undefined ? {} : { authenticator: credsAuthenticator(creds) }),
});
const pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
pool.on('error', (error) => process.stderr.write(`${error.message}\n`));
const probe = new PartitionProbe({ nc, pool, databaseUrl, projection: joins, reached });
parentPort?.once('message', () => {
  void probe
    .stop()
    .then(() => Promise.all([nc.close(), pool.end()]))
    .then(() => parentPort?.postMessage('stopped'));
});
probe.start();
