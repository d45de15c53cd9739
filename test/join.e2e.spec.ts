import {
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  joinCommandOf,
  type BootstrapDataView,
  type ClusterManifestView,
  type HostJoinView,
  type JoinTokenView,
  type NodeList,
  type StoredEvent,
} from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NodeSSH } from 'node-ssh';
import ssh2 from 'ssh2';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const NAME = 'shop';
const CLUSTER = `/ns/default/clusters/${NAME}`;

const manifest = (web: number, version = 'v1.34.4') => ({
  apiVersion: MANIFEST_API_VERSION,
  kind: MANIFEST_KIND,
  metadata: { name: NAME, namespace: 'default' },
  spec: {
    version,
    serviceType: 'multi',
    network: { cni: 'kilo' },
    controlPlane: { connection: 'lab', machineType: 'lab.medium', replicas: 1 },
    pools: [
      { name: 'base', connection: 'lab', machineType: 'lab.medium', replicas: 1 },
      { name: 'web', connection: 'edge', machineType: 'join.any', replicas: web },
    ],
  },
});

interface LabMachine {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly publicIp: string;
  readonly sshPort: number;
  readonly sshUser: string;
}

/** A machine unknown to every provider, and a person at its console. */
const strangeMachine = async (system: System, name: string): Promise<{ machine: LabMachine; console: NodeSSH }> => {
  const key = ssh2.utils.generateKeyPairSync('ed25519');
  await system.lab('PUT', '/v1/networks/elsewhere', { cidr: '10.9.0.0/16', subnet: '10.9.1.0/24' });
  await system.lab('PUT', '/v1/firewalls/elsewhere', { rules: [] });
  await system.lab('PUT', `/v1/ssh-keys/${name}`, { publicKey: key.public });
  const request = {
    ...{ cluster: name, namespace: 'elsewhere', uid: `uid-of-${name}` },
    machines: [
      {
        ...{ name, spec: 'lab.medium', image: 'debian-12', network: 'elsewhere', firewall: 'elsewhere', sshKey: name },
      },
    ],
  };
  await system.lab('PUT', `/v1/groups/${name}`, request);
  for (;;) {
    const { body } = await system.lab<{ rev: number; machines: readonly LabMachine[] }>('GET', `/v1/groups/${name}`);
    const machine = body.machines[0];
    if (machine !== undefined && machine.status === 'running') {
      const console = new NodeSSH();
      const { publicIp: host, sshPort: port, sshUser: username } = machine;
      await console.connect({ host, port, username, privateKey: key.private });
      console.connection?.on('error', () => undefined);
      return { machine, console };
    }
    await system.lab('GET', `/v1/groups/${name}?changedSince=${body.rev}&waitMs=5000`);
  }
};

describe('hosts that join by themselves (lab)', () => {
  let system: System;
  let node: string;
  let host: Awaited<ReturnType<typeof strangeMachine>>;

  const events = (): Promise<StoredEvent[]> => system.events(NAME);
  const lastSeq = async (): Promise<number> => (await events()).at(-1)?.meta.seq ?? 0;
  const nodes = async (): Promise<NodeList['items']> =>
    (await system.call<NodeList>('GET', `${CLUSTER}/nodes?minSeq=${await lastSeq()}`)).body.items;

  beforeAll(async () => {
    system = await startSystem({ light: false });
    const edge = { provider: 'join', region: 'shed', zone: 'shed-1', namespaces: ['*'], settings: {} };
    expect((await system.call('PUT', '/connections/edge', edge)).status).toBeLessThan(300);
    const asked = await system.call('PUT', `${CLUSTER}/manifest`, manifest(0));
    expect({ status: asked.status, body: asked.body }).toMatchObject({ status: 202 });
    await system.until(NAME, ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    host = await strangeMachine(system, 'shed-1');
  }, TIMEOUT_MS);
  afterAll(async () => {
    host?.console.dispose();
    await system?.stop();
  }, 60_000);

  const token = async (): Promise<JoinTokenView> => {
    const { status, body } = await system.call<JoinTokenView>('POST', `${CLUSTER}/pools/web/join-tokens`, {
      ttlSeconds: 600,
    });
    expect({ status, body }).toMatchObject({ status: 201 });
    return body;
  };

  it(
    'run one command, and become Ready nodes of their pool without any connection to them',
    async () => {
      const issued = await token();
      const seq = await lastSeq();
      const command = joinCommandOf({ server: system.server, ca: undefined, issued, script: issued.script });
      // From now on the host is unreachable: its SSH server never answers again.
      await system.lab('PUT', '/v1/faults', { items: [{ kind: 'ssh-never', machine: host.machine.name }] });
      const { code, stderr, stdout } = await host.console.execCommand(command);
      if (code !== 0) throw new Error(`the command ended with ${code}: ${stderr}${stdout}`);
      host.console.dispose();
      await system.until(NAME, ({ type, meta }) => type === 'ClusterReady' && meta.seq > seq, TIMEOUT_MS);
      const [joined] = (await nodes()).filter(({ pool }) => pool === 'web');
      expect(joined).toMatchObject({ phase: 'Ready', pool: 'web' });
      node = joined?.name ?? '';
      const log = JSON.stringify(await events());
      expect(log).not.toContain(issued.token);
      expect(log).not.toContain(issued.token.split('_').slice(2).join('_'));
    },
    TIMEOUT_MS,
  );

  it(
    'become nodes by the bootstrap data of their pool, which any number of hosts may run',
    async () => {
      const read = await system.call<BootstrapDataView>(
        'GET',
        `${CLUSTER}/pools/web/bootstrap-data?format=shell&server=${encodeURIComponent(system.server)}`,
      );
      expect({ status: read.status, body: read.body }).toMatchObject({ status: 200, body: { source: 'generated' } });
      for (const name of ['shed-2', 'shed-3']) {
        const { console } = await strangeMachine(system, name);
        const { code, stderr, stdout } = await console.execCommand('sh', { stdin: read.body.data });
        console.dispose();
        if (code !== 0) throw new Error(`the bootstrap data ended with ${code}: ${stderr}${stdout}`);
      }
      await eventually(
        async () => (await nodes()).filter(({ pool, phase }) => pool === 'web' && phase === 'Ready').length === 3,
        { withinMs: TIMEOUT_MS },
      );
      const secret = /_([A-Za-z0-9_-]{43})/u;
      expect(JSON.stringify(await events())).not.toMatch(new RegExp(`flj_[0-9a-f]{12}${secret.source}`, 'u'));
    },
    TIMEOUT_MS,
  );

  it('are refused with a token that another host has used', async () => {
    const issued = await token();
    const facts = {
      ...{ hostname: 'other', machineId: 'f'.repeat(32), address: '10.0.0.1' },
      ...{ architecture: 'amd64', cpus: 1, memoryMiB: 1024 },
    };
    const ask = (user: string) =>
      system.call<HostJoinView>('POST', '/join', {
        ...{ namespace: 'default', cluster: NAME, token: issued.token, user, facts },
      });
    expect((await ask(`U${'A'.repeat(55)}`)).status).toBe(200);
    expect((await ask(`U${'B'.repeat(55)}`)).body).toMatchObject({ reason: 'join.token-refused' });
    expect((await ask(`U${'A'.repeat(55)}`)).status).toBe(200);
  });

  it(
    'are upgraded through their own connection',
    async () => {
      await system.call('POST', `${CLUSTER}/nodes/abandon`, undefined, { Prefer: 'wait=60' });
      await system.until(NAME, ({ type }) => type === 'VmDeleted', TIMEOUT_MS);
      const seq = await lastSeq();
      const { status, body } = await system.call('POST', `${CLUSTER}/upgrades`, { version: 'v1.34.9', approved: true });
      expect({ status, body }).toMatchObject({ status: 202 });
      await system.until(
        NAME,
        ({ type, meta }) => ['RolloutCompleted', 'RolloutHalted', 'UpgradeRejected'].includes(type) && meta.seq > seq,
        TIMEOUT_MS,
      );
      expect((await nodes()).find(({ name }) => name === node)).toMatchObject({ phase: 'Ready' });
    },
    TIMEOUT_MS,
  );

  it(
    'are created by a provider with the bootstrap data of their pool, and join without SSH [Cluster API 4]',
    async () => {
      // No worker created from now on is reachable.
      await system.lab('PUT', '/v1/faults', { items: [{ kind: 'ssh-never', machine: `${NAME}-w-*` }] });
      const seq = await lastSeq();
      const { body } = await system.call<ClusterManifestView>('GET', `${CLUSTER}/manifest`);
      const booted = {
        ...{ name: 'booted', connection: 'lab', machineType: 'lab.medium', replicas: 2 },
        bootstrap: { by: 'userData' },
      };
      const asked = await system.call('PUT', `${CLUSTER}/manifest`, {
        ...{ apiVersion: body.apiVersion, kind: body.kind, metadata: { name: NAME, namespace: 'default' } },
        spec: { ...body.spec, pools: [...body.spec.pools, booted] },
      });
      expect({ status: asked.status, body: asked.body }).toMatchObject({ status: 202 });
      await eventually(
        async () => (await nodes()).filter(({ pool, phase }) => pool === 'booted' && phase === 'Ready').length === 2,
        { withinMs: TIMEOUT_MS },
      );
      const since = (await events()).filter(({ meta }) => meta.seq > seq);
      const of = (type: StoredEvent['type']): number => since.findIndex((event) => event.type === type);
      expect(of('BootstrapDataGenerated')).toBeGreaterThan(-1);
      expect(of('BootstrapDataGenerated')).toBeLessThan(of('VmsPlanned'));
      const admitted = since.flatMap((event) => (event.type === 'HostAdmitted' ? [event.data.machine] : []));
      expect(admitted).toHaveLength(2);
      await system.lab('PUT', '/v1/faults', { items: [] });
    },
    TIMEOUT_MS,
  );

  it(
    'are reset and removed through it',
    async () => {
      const seq = await lastSeq();
      expect((await system.call('DELETE', `${CLUSTER}/nodes/${node}`)).status).toBe(202);
      await system.until(
        NAME,
        ({ type, data, meta }) => type === 'VmDeleted' && 'name' in data && data.name === node && meta.seq > seq,
        TIMEOUT_MS,
      );
      const reset = (await events()).find((event) => event.type === 'NodeRemoved' && event.data.node === node);
      expect(reset).toBeDefined();
    },
    TIMEOUT_MS,
  );
});
