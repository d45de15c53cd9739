import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@fairlead/contracts';
import { hostKeysAfter, knownHostKey, NO_HOST_KEYS, type HostKeys } from './host-keys.js';

const key = (letter: string): string => `SHA256:${letter.repeat(43)}`;
const after = (...facts: readonly object[]): HostKeys =>
  facts.reduce<HostKeys>((keys, fact) => hostKeysAfter(keys, fact as StoredEvent), NO_HOST_KEYS);

const rack = { host: 'rack-1', address: '198.51.100.11:22' };
const pinned = (hostKey: string, server: object = rack) => ({
  type: 'HostKeyPinned',
  data: { connection: 'site', ...server, hostKey },
});
const accepted = (hostKey: string, server: object = rack) => ({
  type: 'HostKeyAccepted',
  data: { name: 'site', ...server, hostKey },
});
const registered = (hostKey?: string) => ({
  type: 'ConnectionRegistered',
  data: {
    name: 'site',
    provider: 'ssh',
    settings: { hosts: [{ name: 'rack-1', address: '198.51.100.11', ...(hostKey === undefined ? {} : { hostKey }) }] },
  },
});

describe('the trusted host key', () => {
  it('is none, the first one seen, the accepted one, or the one in the settings, in increasing precedence', () => {
    expect(knownHostKey(after(registered()), 'site', rack)).toBeUndefined();
    const seen = [registered(), pinned(key('A'))];
    expect(knownHostKey(after(...seen), 'site', rack)).toEqual({ fingerprint: key('A'), source: 'first-seen' });
    const changed = [...seen, accepted(key('B'))];
    expect(knownHostKey(after(...changed), 'site', rack)).toEqual({ fingerprint: key('B'), source: 'accepted' });
    const named = [...changed, registered(key('C'))];
    expect(knownHostKey(after(...named), 'site', rack)).toEqual({ fingerprint: key('C'), source: 'settings' });
    expect(knownHostKey(after(...named, registered()), 'site', rack)?.source).toBe('accepted');
  });

  it('is not replaced by keys seen later, and an acceptance is replaced by the next', () => {
    expect(knownHostKey(after(pinned(key('A')), pinned(key('B'))), 'site', rack)?.fingerprint).toBe(key('A'));
    expect(knownHostKey(after(accepted(key('A')), pinned(key('B'))), 'site', rack)?.fingerprint).toBe(key('A'));
    expect(knownHostKey(after(accepted(key('A')), accepted(key('B'))), 'site', rack)?.fingerprint).toBe(key('B'));
  });

  it('"is kept by a host that moves, and by a jump host only at its address"', () => {
    const moved = { ...rack, address: '198.51.100.99:2222' };
    expect(knownHostKey(after(pinned(key('A'))), 'site', moved)?.fingerprint).toBe(key('A'));
    const gate = { host: null, address: '198.51.100.1:22' };
    const keys = after(pinned(key('J'), gate));
    expect(knownHostKey(keys, 'site', gate)?.fingerprint).toBe(key('J'));
    expect(knownHostKey(keys, 'site', { ...gate, address: '198.51.100.2:22' })).toBeUndefined();
    expect(knownHostKey(keys, 'other', gate)).toBeUndefined();
  });
});
