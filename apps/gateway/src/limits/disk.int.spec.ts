import type { ErrorView } from '@fairlead/contracts';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { describe, expect, it } from '@jest/globals';
import { request, useGateway } from '../gateway.fixtures.js';

const MIB = 1024 * 1024;
/** The stream of agents' facts alone reserves 128 MiB. */
const STORE_MIB = 192;
const RESERVE_MIB = 168;
const LIMITED = { replica: 1 };

const gateway = useGateway(
  async () => {
    await gateway.ask('POST', '/ns/default/clusters', { body: request('demo') });
    await gateway.startReplica({
      NATS_MONITOR_URL: gateway.environment.nats.monitorUrl ?? '',
      NATS_STORE_DIR: gateway.environment.nats.storeDir ?? '',
      LOG_DISK_RESERVE_MIB: String(RESERVE_MIB),
    });
  },
  { natsStoreMaxBytes: STORE_MIB * MIB },
);

interface Ready {
  readonly status: string;
  readonly alarms: { readonly disk: string };
}

const ready = async (): Promise<Ready> =>
  (await gateway.ask<Ready & Record<string, unknown>>('GET', '/readyz', LIMITED)).body;

const until = async (holds: (now: Ready) => boolean): Promise<Ready> => {
  let now = await ready();
  for (let tries = 0; tries < 100 && !holds(now); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    now = await ready();
  }
  return now;
};

const create = (name: string) =>
  gateway.ask<ErrorView>('POST', '/ns/default/clusters', { ...LIMITED, body: request(name) });

describe('a disk of the log that fills up', () => {
  it('stops what begins something before JetStream stops, leaves reads and deletions, and lets all go on when there is room', async () => {
    expect((await ready()).alarms).toEqual({ disk: 'ok' });
    expect((await create('before')).status).toBe(202);

    const admin = await gateway.environment.connect('admin');
    const streams = await jetstreamManager(admin);
    await streams.streams.add({ name: 'FILLER', subjects: ['filler'] });
    const piece = new Uint8Array(MIB / 2);
    for (let mib = 0; mib < STORE_MIB - RESERVE_MIB + 1; mib += 0.5) await jetstream(admin).publish('filler', piece);

    const low = await until(({ alarms }) => alarms.disk !== 'ok');
    expect(low.status).toBe('degraded');
    expect(low.alarms.disk).toMatch(/^only .* MiB are left for the event log, less than its reserve of 168\.0 MiB/);
    const refused = await create('refused');
    expect([refused.status, refused.body.reason]).toEqual([507, 'log.disk-reserve']);
    expect(await gateway.log('evt.*.default.refused.>')).toEqual([]);
    const metrics = await gateway.ask<string>('GET', '/metrics', LIMITED);
    expect(Number(/fairlead_log_free_bytes\{[^}]*\} (\S+)/.exec(metrics.body)?.[1])).toBeLessThan(RESERVE_MIB * MIB);

    // JetStream itself still takes what services and agents state.
    expect((await gateway.state({ type: 'ClusterAccepted', data: { uid: await uidOf('demo') } })).type).toBe(
      'ClusterAccepted',
    );
    expect((await gateway.ask('GET', '/ns/default/clusters/demo', LIMITED)).status).toBe(200);
    expect((await gateway.ask('DELETE', '/ns/default/clusters/before', LIMITED)).status).toBe(202);

    await streams.streams.delete('FILLER');
    expect((await until(({ alarms }) => alarms.disk === 'ok')).alarms).toEqual({ disk: 'ok' });
    expect((await create('after')).status).toBe(202);
  }, 60_000);
});

const uidOf = async (cluster: string): Promise<never> => {
  const [event] = await gateway.log(`evt.*.default.${cluster}.request.ClusterRequested`);
  return (event?.data as { readonly uid: never }).uid;
};
