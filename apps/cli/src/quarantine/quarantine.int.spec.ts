import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);
describe('quarantine', () => {
  it('release states who must do what', async () => {
    gateway.on('POST', '/quarantine/release', { status: 202, body: {} });
    expect(
      (
        await ask([
          'quarantine',
          'release',
          'demo',
          '--service',
          'infra-svc',
          '--consumer',
          'clusters',
          '--mode',
          'skip',
        ])
      ).code,
    ).toBe(0);
    expect(gateway.received[0]?.body).toEqual({
      service: 'infra-svc',
      consumer: 'clusters',
      namespace: 'default',
      cluster: 'demo',
      mode: 'skip',
    });
  });

  it('rejected lists messages in the log that are not events', async () => {
    const rejected = {
      stream: 'evt.5.default.demo.node-demo-w-1',
      reason: 'type',
      count: 3,
      firstSeq: 7,
      lastSeq: 9,
      subject: 'evt.5.default.demo.node-demo-w-1.NodeReady',
      detail: 'it calls itself ClusterDeletionRequested.v1',
      rejectedTime: '2026-01-01T00:00:00.000Z',
    };
    gateway.on('GET', '/quarantine', { body: { kind: 'QuarantineList', items: [], rejected: [rejected] } });
    expect((await ask(['quarantine', 'rejected'])).stdout).toMatch(
      /evt\.5\.default\.demo\.node-demo-w-1 +type +3 +9 +it calls itself ClusterDeletionRequested\.v1/,
    );
  });
});
