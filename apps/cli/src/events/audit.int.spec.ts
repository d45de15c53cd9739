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

  it('shows who did what, and the causes', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/audit', audit());
    expect((await ask(['audit', 'demo'])).stdout).toContain(
      '102   2026-11-21T08:00:00Z   system/infra-svc   ClusterRequested (101)   Accepted.',
    );
  });

  it('filters by actor and by start', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/audit', audit());
    const seqs = async (...options: readonly string[]): Promise<string> =>
      (await ask(['audit', 'demo', ...options, '-o', 'name'])).stdout;
    expect(await seqs('--actor', 'system/infra-svc', '--since', '101')).toBe('ClusterAccepted\n');
    expect(await seqs('--actor', 'user/ci')).toBe('');
    expect(await seqs('--since', '102')).toBe('');
    expect(await seqs('--since', '2026-11-21T08:00:01Z')).toBe('');
    expect(JSON.parse((await ask(['audit', 'demo', '--actor', 'user/ci', '-o', 'json'])).stdout)).toMatchObject({
      items: [],
      verification: { events: 40 },
    });
  });

  it('follows the pages, prints each as it arrives, and verifies all of them', async () => {
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
      '102   2026-11-21T08:00:00Z   system/infra-svc   ClusterRequested (101)   Accepted.',
      '2000   2026-11-21T08:00:00Z   x                  ClusterRequested (101)   Accepted.',
    ]);
    expect((await ask(['audit', 'verify', 'demo'])).stdout).toMatch('80 events in 2 hash chains');
    const { items, verification: sum } = JSON.parse((await ask(['audit', 'demo', '--output', 'json'])).stdout) as {
      readonly items: readonly unknown[];
      readonly verification: { readonly events: number };
    };
    expect([items.length, sum.events]).toEqual([2, 80]);
  });

  it('verify exits with 0 if nothing was changed, otherwise with 1 and the location', async () => {
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

  it('trace shows the causes and the consequences of an event, and refuses an unknown one', async () => {
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

  describe('diff', () => {
    const event = {
      ...{ seq: 58, type: 'NodeLost', time: '2026-11-21T08:00:00Z', actor: 'system/upgrade-svc' },
      sentence: 'demo-w-1 is lost',
    };
    const planned = { ...event, seq: 61, type: 'VmsPlanned', actor: 'system/infra-svc' };
    const changes = (items: readonly unknown[]) => ({
      body: {
        ...{ kind: 'ClusterChanges', namespace: 'default', cluster: 'demo', items },
        ...{ from: { seq: 50, time: '2026-11-21T07:00:00Z' }, to: { seq: 70, time: '2026-11-21T09:00:00Z' } },
      },
    });

    it('shows each changed field with its event, and created and deleted objects in one line', async () => {
      const field = { field: 'phase', before: 'Ready', after: 'Lost', event };
      const added = ['pool', 'phase'].map((of, index) => ({
        ...{ field: of, before: null, after: 'x', event: { ...planned, seq: planned.seq + index } },
      }));
      gateway.on('GET', '/ns/default/clusters/demo/changes', ({ query }) => {
        expect(query).toEqual({ from: '2026-11-21T07:00:00.000Z', to: '70' });
        return changes([
          { kind: 'Node', name: 'demo-w-1', change: 'changed', fields: [field] },
          { kind: 'Node', name: 'demo-w-3', change: 'added', fields: added },
        ]);
      });
      const { stdout } = await ask(['audit', 'diff', 'demo', '--from', '2026-11-21T07:00:00Z', '--to', '70']);
      expect(stdout.trimEnd().split('\n').slice(1)).toEqual([
        expect.stringMatching(/^Node demo-w-1 +phase +Ready +Lost +NodeLost \(58\) +system\/upgrade-svc +2026-/),
        expect.stringMatching(/^Node demo-w-3 +- +- +added +VmsPlanned \(61\) +system\/infra-svc +2026-/),
      ]);
    });

    it('prints a message if nothing changed, and requires the first moment', async () => {
      gateway.on('GET', '/ns/default/clusters/demo/changes', changes([]));
      expect((await ask(['audit', 'diff', 'demo', '--from', '50'])).stdout).toBe('Nothing changed.\n');
      expect(await ask(['audit', 'diff', 'demo'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("required option '--from <moment>' not specified"),
      });
    });
  });
});
