import { NONE, type StoredEvent } from '@fairlead/contracts';
import type { Job } from '@fairlead/event-sourcing/jetstream';
import { describe, expect, it } from '@jest/globals';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';
import type { Offers } from '../resources/resources.ports.js';
import { connectionsProcess } from './connections.process.js';
import { ConnectionJobs, type OfAccepted } from './verification.effects.js';

const stated = (type: string, data: object, seq = 7): StoredEvent =>
  ({ type, data, meta: { seq, namespace: NONE, cluster: NONE, context: 'request' } }) as unknown as StoredEvent;

const jobsAfter = (event: StoredEvent): readonly unknown[] =>
  connectionsProcess.react(null, event).map((effect) => JSON.parse(JSON.stringify(effect)) as unknown);

describe('a connection', () => {
  it.each([
    ['ConnectionRegistered', { name: 'site' }],
    ['ConnectionVerificationRequested', { name: 'site' }],
    ['HostKeyAccepted', { name: 'site', host: 'rack-1', address: '198.51.100.11:22', hostKey: 'SHA256:a' }],
  ])('is looked at after %s', (type, data) => {
    expect(jobsAfter(stated(type, data))).toEqual([
      expect.objectContaining({ type: 'VerifyConnection', data: { connection: 'site', groups: ['connection site'] } }),
    ]);
  });

  it('frees a host that was accepted, as of the acceptance', () => {
    expect(jobsAfter(stated('HostAccepted', { name: 'site', host: 'rack-1' }, 42))).toEqual([
      expect.objectContaining({
        type: 'AcceptHost',
        data: { connection: 'site', groups: ['connection site'], host: 'rack-1', asOf: 42 },
      }),
    ]);
  });

  it('is looked at again after a host was accepted, and nothing is done to the host', async () => {
    const done: unknown[] = [];
    const provider = {
      accept: async (host: string, asOf: number) => void done.push(['accept', host, asOf]),
      recover: async () => void done.push(['recover']),
    };
    const open = { connection: { name: 'site' }, provider } as unknown as OpenConnection;
    const connections = { openOffered: async () => open, isCurrent: async () => true } as unknown as Connections;
    const offers = { refresh: async () => void done.push(['refresh']) } as unknown as Offers;
    const job = { data: { connection: 'site', host: 'rack-1', asOf: 42 } } as Job<OfAccepted>;
    await new ConnectionJobs(connections, offers).accept(job);
    expect(done).toEqual([['accept', 'rack-1', 42], ['refresh']]);
  });
});
