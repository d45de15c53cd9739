import type { Heartbeat } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { HeardHeartbeats } from './heard.heartbeats.js';
import { LastHeartbeat, type ReadHeartbeat } from './last.heartbeat.js';

const AT_MS = Date.UTC(2026, 0, 20, 10);

const heartbeat = (more: Partial<Heartbeat> = {}): Heartbeat => ({
  uid: '00000000-0000-4000-8000-000000000001' as Heartbeat['uid'],
  node: 'demo-w-1' as Heartbeat['node'],
  at: new Date(AT_MS).toISOString(),
  bootId: 'boot',
  agentVersion: '0.1.0',
  revision: 1,
  ready: true,
  kubernetesReady: true,
  software: {},
  ...more,
});
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe('the last heartbeat of a node', () => {
  it('is kept as a copy: the socket overwrites the received bytes', () => {
    const last = new LastHeartbeat();
    const data = bytesOf(heartbeat({ revision: 7 }));
    last.keep(data);
    data.fill(0);
    expect(last.read(AT_MS)?.heartbeat.revision).toBe(7);
  });

  it('is the newest one, whether longer or shorter than earlier ones', () => {
    const last = new LastHeartbeat();
    for (const bootId of ['a'.repeat(600), 'b', 'c'.repeat(300), 'd']) {
      last.keep(bytesOf(heartbeat({ bootId })));
      expect(last.read(AT_MS)?.heartbeat.bootId).toBe(bootId);
    }
  });

  it('shows how far the clock of the node is ahead', () => {
    const last = new LastHeartbeat();
    last.keep(bytesOf(heartbeat()));
    expect(last.read(AT_MS - 5)).toMatchObject({ skewMs: 5 });
  });

  it.each([
    ['is none', Buffer.from('no JSON')],
    ['lacks a field', bytesOf({ ...heartbeat(), uid: undefined })],
  ])('is empty if the message %s', (_, data) => {
    const last = new LastHeartbeat();
    last.keep(data);
    expect(last.read(AT_MS)).toBeUndefined();
  });

  it('is not kept if it exceeds the limit', () => {
    const last = new LastHeartbeat();
    last.keep(bytesOf(heartbeat({ bootId: 'x'.repeat(20_000) })));
    expect(last.read(AT_MS)).toBeUndefined();
  });
});

describe('the heartbeat in a survey', () => {
  const AT = { namespace: 'default', cluster: 'demo', node: 'demo-w-1' };
  const read: ReadHeartbeat = { heartbeat: heartbeat(), skewMs: 3 };

  const silent = { heardAt: () => undefined, lastOf: () => undefined };
  const hears = (all: readonly ReadHeartbeat[]) => {
    const beganMs = performance.now();
    const count = (): number => Math.min(1 + Math.floor((performance.now() - beganMs) / 600), all.length);
    return { sinceMs: 0, heardAt: () => beganMs + (count() - 1) * 600, lastOf: () => all[count() - 1] };
  };

  it('is the received one', async () => {
    const heard = new HeardHeartbeats({ sinceMs: 0, heardAt: () => 1, lastOf: () => read }, 1_000);
    expect(await heard.last(AT)).toEqual({ skewMs: 3, source: null, kubelet: null, cgroupV1: null });
  });

  it('is waited for soon after the start, when that of a live node has yet to arrive', async () => {
    let looks = 0;
    const heardAt = (): number | undefined => ((looks += 1) < 3 ? undefined : performance.now());
    const listener = { sinceMs: performance.now(), heardAt, lastOf: () => read };
    expect(await new HeardHeartbeats(listener, 10_000).last(AT)).toEqual({
      skewMs: 3,
      source: null,
      kubelet: null,
      cgroupV1: null,
    });
  });

  it('is empty for a node that was silent for the limit, at once or when it is over', async () => {
    expect(await new HeardHeartbeats({ ...silent, sinceMs: performance.now() - 1_000 }, 1_000).last(AT)).toBeNull();
    expect(await new HeardHeartbeats({ ...silent, sinceMs: undefined }, 300).last(AT)).toBeNull();
  });

  it('uses the clock of a second one if the first seems to differ, because it may have been read late', async () => {
    const heard = new HeardHeartbeats(
      hears([
        { ...read, skewMs: -1_800 },
        { ...read, skewMs: -4 },
      ]),
      10_000,
    );
    expect(await heard.last(AT)).toMatchObject({ skewMs: -4 });
  });

  it('uses the clock of the only one if no second arrives', async () => {
    const late: ReadHeartbeat = { ...read, skewMs: -1_800 };
    const heard = new HeardHeartbeats({ sinceMs: 0, heardAt: () => 1, lastOf: () => late }, 300);
    expect(await heard.last(AT)).toMatchObject({ skewMs: -1_800 });
  });
});
