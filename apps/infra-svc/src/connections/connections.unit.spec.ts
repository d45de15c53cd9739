import { NONE, type StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';
import type { Offers } from '../resources/resources.ports.js';
import { connectionsReconciler } from './connections.reconciler.js';
import { ConnectionEffects } from './verification.effects.js';

const stated = (type: string, data: object, seq = 7): StoredEvent =>
  ({
    type,
    data,
    meta: { seq, time: '2026-01-01T00:00:00.000Z', namespace: NONE, cluster: NONE, context: 'request' },
  }) as unknown as StoredEvent;

const tasksAfter = (event: StoredEvent) =>
  connectionsReconciler.followUps?.(null, { event, now: event.meta.time }) ?? [];

describe('a connection', () => {
  it.each([
    ['ConnectionRegistered', { name: 'site' }],
    ['ConnectionVerificationRequested', { name: 'site' }],
    ['HostKeyAccepted', { name: 'site', host: 'rack-1', address: '198.51.100.11:22', hostKey: 'SHA256:a' }],
  ])('is verified after %s', (type, data) => {
    expect(tasksAfter(stated(type, data))).toEqual([
      expect.objectContaining({
        key: 'VerifyConnection/site',
        data: { connection: 'site' },
        groups: ['connection site'],
      }),
    ]);
  });

  it('accepts a host, as of the time of the acceptance', () => {
    expect(tasksAfter(stated('HostAccepted', { name: 'site', host: 'rack-1' }, 42))).toEqual([
      expect.objectContaining({
        key: 'AcceptHost/site/rack-1',
        data: { connection: 'site', host: 'rack-1', asOf: 42 },
        groups: ['connection site'],
      }),
    ]);
  });

  it('is verified again after a host was accepted, without changing the host', async () => {
    const done: unknown[] = [];
    const provider = {
      accept: async (host: string, asOf: number) => void done.push(['accept', host, asOf]),
      recover: async () => void done.push(['recover']),
    };
    const open = { connection: { name: 'site' }, provider } as unknown as OpenConnection;
    const connections = { openOffered: async () => open, isCurrent: async () => true } as unknown as Connections;
    const offers = { refresh: async () => void done.push(['refresh']) } as unknown as Offers;
    const task = { data: { connection: 'site', host: 'rack-1', asOf: 42 } };
    await new ConnectionEffects(connections, offers).accept(task as never);
    expect(done).toEqual([['accept', 'rack-1', 42], ['refresh']]);
  });
});
