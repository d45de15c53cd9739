import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, ...args]);

describe('audit', () => {
  const verification = (faults: readonly unknown[]) => ({
    intact: faults.length === 0,
    events: 40,
    streams: 7,
    faults,
  });
  const audit = (faults: readonly unknown[] = []) => ({
    body: {
      kind: 'Audit',
      namespace: 'default',
      cluster: 'demo',
      items: [
        {
          seq: 102,
          id: 'e',
          time: '2026-11-21T08:00:00Z',
          type: 'ClusterAccepted',
          actor: 'system/infra-svc',
          source: '',
          sentence: 'Accepted.',
          because: [{ seq: 101, type: 'ClusterRequested', id: 'd' }],
        },
      ],
      verification: verification(faults),
    },
  });

  it('shows who did what, and because of what', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/audit', audit());
    expect((await ask(['audit', 'demo'])).stdout).toContain(
      '102   2026-11-21T08:00:00Z   system/infra-svc   Accepted.   ClusterRequested (101)',
    );
  });

  it('follows the pages, prints each when it is there, and verifies all of them', async () => {
    const whole = audit().body;
    const page = (seq: number, next: number | null, context: string) => ({
      body: {
        ...whole,
        next,
        items: whole.items.map((item) => ({ ...item, seq, context, actor: next === null ? 'x' : item.actor })),
        verification: { ...whole.verification, streams: 1 },
      },
    });
    gateway.on('GET', '/ns/default/clusters/demo/audit', ({ query }) =>
      query['after'] === '0' ? page(102, 102, 'request') : page(2_000, null, 'machines'),
    );
    const { stdout } = await ask(['audit', 'demo']);
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^SEQ /),
      '102   2026-11-21T08:00:00Z   system/infra-svc   Accepted.   ClusterRequested (101)',
      '2000   2026-11-21T08:00:00Z   x                  Accepted.   ClusterRequested (101)',
    ]);
    expect((await ask(['audit', 'verify', 'demo'])).stdout).toMatch('80 events in 2 hash chains');
    const { items, verification: sum } = JSON.parse((await ask(['audit', 'demo', '--output', 'json'])).stdout) as {
      readonly items: readonly unknown[];
      readonly verification: { readonly events: number };
    };
    expect([items.length, sum.events]).toEqual([2, 80]);
  });

  it('verify ends with 0 when nothing is changed, and with 1 and the place when something is', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/audit', audit());
    expect(await ask(['audit', 'verify', 'demo'])).toMatchObject({
      code: 0,
      stdout: '40 events in 7 hash chains: no event was changed or is missing.\n',
    });
    gateway.on(
      'GET',
      '/ns/default/clusters/demo/audit',
      audit([{ seq: 105, context: 'machines', fault: 'its hash does not fit' }]),
    );
    expect(await ask(['audit', 'verify', 'demo'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('event 105 (machines): its hash does not fit'),
    });
  });

  it('trace shows what led to an event and what followed, and knows no other', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/audit', audit());
    expect(await ask(['audit', 'trace', 'demo', '102'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        'EVENT\n  102  ClusterAccepted  Accepted.  (system/infra-svc, 2026-11-21T08:00:00Z)\n',
      ),
    });
    expect(await ask(['audit', 'trace', 'demo', '7'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('The history of demo has no event 7'),
    });
  });
});
