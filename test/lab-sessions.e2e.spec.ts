import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import ssh2 from 'ssh2';
import { startSystem, type System } from './system/system.js';

interface Machine {
  readonly status: string;
  readonly publicIp: string;
  readonly sshPort: number;
  readonly sshUser: string;
}

const OPENINGS = 20;

// The bundle, not its sources: ssh2 distinguishes its channels by the names of their classes.
describe('the built lab', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem();
  }, 120_000);

  afterAll(() => system?.stop(), 60_000);

  const make = async (publicKey: string): Promise<Machine> => {
    await system.lab('PUT', '/v1/networks/net', { cidr: '10.0.0.0/16', subnet: '10.0.1.0/24' });
    await system.lab('PUT', '/v1/firewalls/wall', { rules: [] });
    await system.lab('PUT', '/v1/ssh-keys/key', { publicKey });
    const machine = {
      name: 'host',
      spec: 'lab.medium',
      image: 'debian-12',
      network: 'net',
      firewall: 'wall',
      sshKey: 'key',
    };
    const group = { cluster: 'host', namespace: 'default', uid: 'uid-of-host', machines: [machine] };
    await system.lab('PUT', '/v1/groups/host', group);
    return eventually(async () => {
      const { body } = await system.lab<{ machines: Machine[] }>('GET', '/v1/groups/host');
      return body.machines.find(({ status }) => status === 'running');
    });
  };

  it('keeps running when clients disconnect between opening a session and its command', async () => {
    const key = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
    const { publicIp: host, sshPort: port, sshUser: username } = await make(key.public);
    const pid = system.supervisor.status().find(({ name }) => name === 'lab')?.pid;
    for (let opening = 0; opening < OPENINGS; opening += 1) {
      const client = new ssh2.Client().on('error', () => undefined);
      client.connect({ host, port, username, privateKey: key.private });
      await once(client, 'ready');
      client.exec('true', () => undefined);
      client.destroy();
      await once(client, 'close');
    }
    expect((await system.lab('GET', '/v1/regions')).status).toBe(200);
    expect(system.supervisor.status().find(({ name }) => name === 'lab')).toMatchObject({ pid, restarts: 0 });
  });
});
