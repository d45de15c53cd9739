import type { ConnectionView, ErrorView, Machine, SecretRef, StoredEvent } from '@fairlead/contracts';
import { NatsSecrets } from '@fairlead/service-kit';
import { NodeSshShell } from '@fairlead/service-kit/ssh';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const PATH = '/connections/lab/ssh-key/rotate';

describe('the SSH key of a connection', () => {
  let system: System;
  let shell: NodeSshShell;
  let former: string;
  const signal = new AbortController().signal;

  const secret = async (ref: string): Promise<string | undefined> => {
    const file = system.plans.find(({ name }) => name === 'infra-svc')?.env['FAIRLEAD_MASTER_KEY_FILE'] ?? '';
    const key = Buffer.from(readFileSync(file, 'utf8'), 'base64');
    return new NatsSecrets(await system.environment.connect('infra-svc'), 'infra-svc', key).get(ref as SecretRef);
  };
  const machines = async (): Promise<readonly Machine[]> =>
    (await system.events('demo')).flatMap((event) => (event.type === 'VmCreated' ? [event.data.machine] : []));
  const isOpenTo = (privateKey: string, { name, ssh: { host, port, user } }: Machine): Promise<boolean> =>
    shell.accepts({ name, host, port, user, privateKey, hostKey: null }, signal);
  const hostsOpenTo = async (privateKey: string): Promise<readonly boolean[]> =>
    Promise.all((await machines()).map((machine) => isOpenTo(privateKey, machine)));
  const sshKey = async () => (await system.call<ConnectionView>('GET', '/connections/lab')).body.sshKey;
  const until = (type: StoredEvent['type']) => system.until('demo', (event) => event.type === type, TIMEOUT_MS);

  beforeAll(async () => {
    system = await startSystem({ light: true });
    shell = new NodeSshShell({ idleMs: 1_000, connectionsMax: 20 });
    await system.call('POST', '/ns/default/clusters', clusterBody('demo', { controlPlanes: 1, workers: 2 }));
    await until('ClusterReady');
    former = (await secret('infra-svc.ssh-key.lab')) ?? '';
  }, TIMEOUT_MS);

  afterAll(async () => {
    await shell?.close();
    await system?.stop();
  }, 60_000);

  it(
    'is rotated on every host while the cluster runs, despite kill -9 of bootstrap-svc and infra-svc meanwhile',
    async () => {
      expect(await hostsOpenTo(former)).toEqual([true, true, true]);
      expect((await system.call('POST', PATH, {})).status).toBe(202);
      const second = await system.call<ErrorView>('POST', PATH, {});
      expect([second.status, second.body.reason]).toEqual([409, 'connection.ssh-key-rotating']);
      await until('AuthorizedKeyAdded');
      system.kill('bootstrap-svc');
      system.kill('infra-svc');
      await eventually(async () => (await sshKey())?.rotated?.replaced === 3, { withinMs: TIMEOUT_MS });
      expect(await sshKey()).toMatchObject({ name: 'lab-sshkey-2', rotation: null, rotated: { leftOut: 0 } });
      expect(await hostsOpenTo(former)).toEqual([false, false, false]);
      expect(await hostsOpenTo((await secret('infra-svc.ssh-key.lab_2')) ?? '')).toEqual([true, true, true]);
      expect(await secret('infra-svc.ssh-key.lab')).toBeUndefined();
      expect((await system.lab('GET', '/v1/ssh-keys/lab-sshkey')).status).toBe(404);
      expect(JSON.stringify([await system.events('demo'), await system.events('_', '_')])).not.toContain('PRIVATE KEY');
    },
    TIMEOUT_MS,
  );

  it(
    'is accepted by hosts added later; the cluster is deleted like any other',
    async () => {
      const worker = [{ connection: 'lab', count: 1, spec: 'lab.medium' }];
      const { meta } = (await system.events('demo')).at(-1)!;
      expect((await system.call('POST', '/ns/default/clusters/demo/nodes', { worker })).status).toBe(202);
      await system.until('demo', (event) => event.type === 'ClusterReady' && event.meta.seq > meta.seq, TIMEOUT_MS);
      expect(await hostsOpenTo((await secret('infra-svc.ssh-key.lab_2')) ?? '')).toEqual([true, true, true, true]);
      await system.call('DELETE', '/ns/default/clusters/demo');
      await until('ClusterDeleted');
      expect((await system.standing())['machines']).toBe(0);
    },
    TIMEOUT_MS,
  );
});
