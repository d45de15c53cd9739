import { WorldFailure, type SecretRef } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { MemorySecrets } from '../../test/world.js';
import { cp, machine, stateAfter, wholeCluster } from '../bootstrap/bootstrap.fixtures.js';
import type { Known } from '../bootstrap/bootstrap.state.js';
import type { Step } from '../bootstrap/step.runner.js';
import { RememberedSecrets } from '../secrets.cache.js';
import { HostAccess } from './host.access.js';
import type { HostAddress, HostSession } from './hosts.ports.js';

describe('the way onto a host', () => {
  const host = (stateAfter(...wholeCluster()) as Known).hosts[cp(1)]!;
  const step = { signal: new AbortController().signal } as Step;
  const own = 'gateway.connection.site' as SecretRef;
  const other = 'gateway.connection.gate' as SecretRef;
  const behind = (more: object) => {
    const ssh = { host: '10.0.0.7', port: 22, user: 'ops', keyRef: own, hostKey: 'SHA256:host', ...more };
    return { ...host, machine: { ...machine(cp(1)), ssh } };
  };

  const open = async (reached: typeof host): Promise<HostAddress> => {
    const opened: HostAddress[] = [];
    const shell = {
      open: async (address: HostAddress) => {
        opened.push(address);
        return { release: () => undefined } as unknown as HostSession;
      },
      close: async () => undefined,
    };
    const secrets = new MemorySecrets();
    await secrets.put(own, 'own key', 'shared');
    await secrets.put(other, 'key of the gate', 'shared');
    const access = new HostAccess(shell, new RememberedSecrets(secrets), { triesMax: 1, deadlineMs: 1 });
    await access.on(reached, step, async () => undefined);
    return opened[0]!;
  };

  it('leads through its jump host, each opened by its own key and pinned to its own', async () => {
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

  it('is pinned to the first key that was seen where the provider vouches for none', async () => {
    const seen = { ...behind({ hostKey: null }), hostKey: 'SHA256:seen' };
    expect((await open(seen)).hostKey).toBe('SHA256:seen');
  });

  it('ends where there is no key behind the reference', async () => {
    await expect(open(behind({ keyRef: 'gateway.connection.gone' }))).rejects.toBeInstanceOf(WorldFailure);
  });
});
