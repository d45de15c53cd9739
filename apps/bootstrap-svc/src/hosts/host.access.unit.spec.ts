import { ExternalFailure, type SecretRef, type StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { MemorySecrets } from '../../test/world.js';
import { cp, machine, stateAfter, wholeCluster } from '../bootstrap/bootstrap.fixtures.js';
import type { Present } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import { RememberedSecrets } from '../secrets.cache.js';
import { HostAccess } from './host.access.js';
import { LogHostKeys } from './host.keys.effects.js';
import { PROVIDERS_KEYS, type HostAddress, type HostSession } from './hosts.ports.js';

describe('the connection to a host', () => {
  const host = (stateAfter(...wholeCluster()) as Present).cluster.hosts[cp(1)]!;
  const step = { signal: new AbortController().signal } as RunningTask;
  const own = 'gateway.connection.site' as SecretRef;
  const other = 'gateway.connection.gate' as SecretRef;
  const behind = (more: object) => {
    const ssh = { host: '10.0.0.7', port: 22, user: 'ops', keyRef: own, hostKey: 'SHA256:host', ...more };
    return { ...host, machine: { ...machine(cp(1)), ssh } };
  };

  const open = async (reached: typeof host, keys = PROVIDERS_KEYS): Promise<HostAddress> => {
    const opened: HostAddress[] = [];
    const shell = {
      open: async (address: HostAddress) => {
        opened.push(address);
        return { release: () => undefined } as unknown as HostSession;
      },
      accepts: async () => true,
      close: async () => undefined,
    };
    const secrets = new MemorySecrets();
    await secrets.put(own, 'own key', 'shared');
    await secrets.put(other, 'key of the gate', 'shared');
    const access = new HostAccess(
      shell,
      new RememberedSecrets(secrets),
      { triesMax: 1, deadlineMs: 1 },
      { keys, epoch: () => 1 },
    );
    await access.on(reached, step, async () => undefined);
    return opened[0]!;
  };

  it('uses its jump host, each opened with its own key and pinned to its own host key', async () => {
    const jump = { host: '192.0.2.1', port: 2222, user: 'gate', keyRef: other, hostKey: 'SHA256:gate' };
    expect(await open(behind({ jump }))).toEqual({
      name: cp(1),
      host: '10.0.0.7',
      port: 22,
      user: 'ops',
      hostKey: 'SHA256:host',
      privateKey: 'own key',
      jump: { host: '192.0.2.1', port: 2222, user: 'gate', hostKey: 'SHA256:gate', privateKey: 'key of the gate' },
    });
  });

  it('is pinned to the first key seen if the provider reports none', async () => {
    const seen = { ...behind({ hostKey: null }), hostKey: 'SHA256:seen' };
    expect((await open(seen)).hostKey).toBe('SHA256:seen');
  });

  describe('of an inventory', () => {
    const key = (letter: string): string => `SHA256:${letter.repeat(43)}`;
    const jump = { host: '192.0.2.1', port: 2222, user: 'gate', keyRef: other, hostKey: key('G') };
    const own = () => {
      const reached = behind({ hostKey: key('A'), jump });
      return {
        ...reached,
        machine: { ...reached.machine, providerId: 'ssh://rack-1/demo', connection: 'site' as never },
      };
    };
    const logOf = (...facts: readonly object[]) => {
      const events = facts.map((fact, at) => ({ event: { ...fact, meta: { seq: at + 1 } } as StoredEvent, hash: '' }));
      const read = async (filter: string, after: number) =>
        events.filter(
          ({ event }) =>
            event.meta.seq > after && filter.endsWith('HostKeyPinned') === (event.type === 'HostKeyPinned'),
        );
      return new LogHostKeys({ read } as unknown as EventStore);
    };
    const accepted = (host: string | null, address: string, hostKey: string) => ({
      type: 'HostKeyAccepted',
      data: { name: 'site', host, address, hostKey },
    });

    it('is pinned to the key that was accepted after its machine was created, and so is its jump host', async () => {
      const keys = logOf(accepted('rack-1', '10.0.0.7:22', key('B')), accepted(null, '192.0.2.1:2222', key('H')));
      expect(await open(own(), keys)).toMatchObject({ hostKey: key('B'), jump: { hostKey: key('H') } });
    });

    it('is not affected by keys accepted for another host, connection or jump host', async () => {
      const keys = logOf(
        accepted('rack-2', '10.0.0.7:22', key('B')),
        { ...accepted('rack-1', '10.0.0.7:22', key('B')), data: { name: 'other', host: 'rack-1', hostKey: key('B') } },
        accepted(null, '192.0.2.9:2222', key('H')),
      );
      expect(await open(own(), keys)).toMatchObject({ hostKey: key('A'), jump: { hostKey: key('G') } });
    });

    it('is pinned to the first key seen by infra-svc if its machine was created before keys were pinned', async () => {
      const pin = { connection: 'site', host: 'rack-1', address: '10.0.0.7:22', hostKey: key('C') };
      const reached = own();
      const before = { ...reached, machine: { ...reached.machine, ssh: { ...reached.machine.ssh, hostKey: null } } };
      expect((await open(before, logOf({ type: 'HostKeyPinned', data: pin }))).hostKey).toBe(key('C'));
    });
  });

  it('fails if there is no key behind the reference', async () => {
    await expect(open(behind({ keyRef: 'gateway.connection.gone' }))).rejects.toBeInstanceOf(ExternalFailure);
  });
});
