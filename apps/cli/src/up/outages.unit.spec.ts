import type { ProcessStatus, ReplicaState } from '@fairlead/embedded';
import { describe, expect, it } from '@jest/globals';
import { downOf, SlowStarts, streamsAgain } from './outages.effects.js';
import { StateLines } from './state.lines.js';
import { waitsFor } from './programs.planner.js';

const waiting = (crashes: number, reason = 'It ended unasked (exit code 1).'): ReplicaState => ({
  status: 'waiting',
  delayMs: 800,
  crashes,
  reason,
});
const running = (agoMs: number): ReplicaState => ({ status: 'running', sinceMs: Date.now() - agoMs });

describe('fairlead up', () => {
  it('reports a crash with its last output, the number of crashes and the time of the next start, and reports the recovery', () => {
    const lines = new StateLines((name) => `/data/logs/${name}.log`);
    const reason = 'It ended unasked (exit code 1). Its last words:\n  starting\n  Error: out of memory';
    expect(lines.lineOf('infra-svc', waiting(1, reason))).toBe(
      'infra-svc crashed and is restarted in 0.8s: It ended unasked (exit code 1). "Error: out of memory" (see /data/logs/infra-svc.log)',
    );
    expect(lines.lineOf('infra-svc', { status: 'starting' })).toBeUndefined();
    expect(lines.lineOf('infra-svc', waiting(7))).toMatch(/^infra-svc crashed 7 times in a row and is restarted in /);
    expect(lines.lineOf('infra-svc', running(0))).toBe('infra-svc serves again');
    expect(lines.lineOf('infra-svc', running(0))).toBeUndefined();
  });

  it('reports what a service waits for, once', () => {
    const lines = new StateLines(() => '');
    const line = 'FAIRLEAD WAITING gateway for PostgreSQL at 127.0.0.1:5432/x: the database system is starting up';
    const state: ReplicaState = { status: 'starting', waitsFor: waitsFor('gateway', line) ?? '' };
    expect(lines.lineOf('gateway', state)).toBe(
      'gateway waits for PostgreSQL at 127.0.0.1:5432/x: the database system is starting up',
    );
    expect(lines.lineOf('gateway', state)).toBeUndefined();
    expect(waitsFor('infra-svc', line)).toBeUndefined();
  });

  it('blames no service for an end while NATS or PostgreSQL is down or has just come back', () => {
    const of = (state: ReplicaState, restarts: number): string | undefined => {
      const status: ProcessStatus = { name: 'postgres', pid: 1, state, restarts };
      return downOf({ status: () => [status] });
    };
    expect(of(running(60_000), 3)).toBeUndefined();
    expect(of(running(100), 0)).toBeUndefined();
    expect(of(running(100), 1)).toBe('postgres was just restarted.');
    expect(of(waiting(1), 1)).toBe('postgres is down.');
  });

  it('does not wait for a service that crashes again and again: the others serve', async () => {
    const said: string[] = [];
    const slow = new SlowStarts({ onState: () => undefined, onNotice: (sentence) => said.push(sentence) });
    const start = slow.unlessSlow('infra-svc', new Promise<void>(() => undefined));
    for (const crashes of [1, 2, 3, 4]) slow.hear('infra-svc', waiting(crashes));
    await start;
    expect(said).toEqual(['infra-svc does not start yet. It is retried; the other services are running.']);
    await slow.unlessSlow('gateway', Promise.resolve());
    await expect(slow.unlessSlow('gateway', Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(said).toHaveLength(1);
  });

  it('makes the streams after an outage of NATS however often that fails at first', async () => {
    let tries = 0;
    const streams = async (): Promise<void> => {
      tries += 1;
      if (tries < 3) throw new Error('timeout');
    };
    await streamsAgain(streams, () => undefined, new AbortController().signal);
    expect(tries).toBe(3);
  });
});
