import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { Heartbeat } from './heartbeats.js';

it('accepts a heartbeat of a newer agent, and drops unknown fields', () => {
  const heartbeat = {
    uid: randomUUID(),
    node: 'demo-w-1',
    at: '2026-11-22T12:00:00.000Z',
    bootId: 'boot-1',
    agentVersion: '9.0.0',
    revision: 1,
    ready: true,
    kubernetesReady: null,
    software: { kubelet: '1.34.4' },
    source: { at: '2026-11-22T12:00:00.000Z', address: 'https://mirror', failure: null, releases: null },
  };
  const newer = { ...heartbeat, temperature: 40, source: { ...heartbeat.source, latencyMs: 3 } };
  expect(Heartbeat.parse(newer)).toEqual(heartbeat);
  expect(Heartbeat.safeParse({ ...newer, bootId: 1 }).success).toBe(false);
});
