import {
  EVENTS,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  joinCommandOf,
  type BootstrapDataView,
  type ClusterManifestView,
  type HostJoinView,
  type JoinTokenView,
  type NodeList,
  type RegisteredHostList,
  type StoredEvent,
} from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NodeSSH } from 'node-ssh';
import ssh2 from 'ssh2';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const NAME = 'shop';
/** The minimum of bootstrap-svc. */
const TTL_S = 60;
/** On a fast machine a host joins before its token ends. */
const TRIES_MAX = 3;
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
    system = await startSystem({ light: false, env: { JOIN_TOKEN_TTL_S: String(TTL_S) } });
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

  const declare = async (pool: { readonly name: string; readonly hostSelector: object }): Promise<void> => {
    const { body } = await system.call<ClusterManifestView>('GET', `${CLUSTER}/manifest`);
    const joins = { connection: 'edge', machineType: 'join.any', replicas: 0 };
    const asked = await system.call('PUT', `${CLUSTER}/manifest`, {
      ...{ apiVersion: body.apiVersion, kind: body.kind, metadata: { name: NAME, namespace: 'default' } },
      spec: { ...body.spec, pools: [...body.spec.pools, { ...joins, ...pool }] },
    });
    expect({ isAccepted: asked.status < 300, body: asked.body }).toMatchObject({ isAccepted: true });
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

  const kubernetesOf = async (): Promise<KubernetesClient> => {
    const { body: kubeconfig } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`);
    return new KubernetesClient(NAME, kubeconfig, () => undefined);
  };

  const tokensIn = async (kubernetes: KubernetesClient): Promise<readonly string[]> => {
    const { items } = await kubernetes.core.listNamespacedSecret({ namespace: 'kube-system' });
    return items.flatMap(({ metadata }) => metadata?.name ?? []).filter((name) => name.startsWith('bootstrap-token-'));
  };

  /** Workers share a token for half of its lifetime: afterwards the next one gets another. */
  const sharingEnds = (): Promise<unknown> =>
    eventually(
      async () => {
        const last = (await events()).findLast(({ type }) => type === 'WorkerJoined');
        return Date.now() - Date.parse(last?.meta.time ?? '') > (TTL_S * 1_000) / 2;
      },
      { withinMs: TTL_S * 1_000 },
    );

  /** Ends the next token for joins before a host has joined with it, like Kubernetes when it expires. */
  const endNextToken = async (kubernetes: KubernetesClient, before: readonly string[]): Promise<void> => {
    await eventually(
      async () => {
        const [next] = (await tokensIn(kubernetes)).filter((name) => !before.includes(name));
        if (next === undefined) return false;
        await kubernetes.core.deleteNamespacedSecret({ namespace: 'kube-system', name: next });
        return true;
      },
      { withinMs: TIMEOUT_MS, everyMs: 50 },
    );
  };

  it(
    'get a fresh token through their agent if that for joins has expired, which is recorded [Cluster API 20]',
    async () => {
      const kubernetes = await kubernetesOf();
      for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
        const seq = await lastSeq();
        const { machine, console } = await strangeMachine(system, `late-${tries}`);
        const issued = await token();
        // The only way to the host is the connection of its agent: its SSH server never answers again.
        await system.lab('PUT', '/v1/faults', { items: [{ kind: 'ssh-never', machine: machine.name }] });
        await sharingEnds();
        const before = await tokensIn(kubernetes);
        const command = joinCommandOf({ server: system.server, ca: undefined, issued, script: issued.script });
        const [{ code, stderr, stdout }] = await Promise.all([
          console.execCommand(command),
          endNextToken(kubernetes, before),
        ]);
        console.dispose();
        if (code !== 0) throw new Error(`the command ended with ${code}: ${stderr}${stdout}`);
        await system.until(NAME, ({ type, meta }) => type === 'ClusterReady' && meta.seq > seq, TIMEOUT_MS);
        const since = (await events()).filter(({ meta }) => meta.seq > seq);
        const [renewal] = since.flatMap((event) => (event.type === 'JoinTokenRenewed' ? [event] : []));
        // The host was faster.
        if (renewal === undefined) continue;
        const { node: late } = renewal.data;
        const joined = since.find((event) => event.type === 'WorkerJoined' && event.data.node === late);
        expect(joined?.meta.seq).toBeGreaterThan(renewal.meta.seq);
        const failed = since.filter(
          (event) => event.type === 'BootstrapStepFailed' && event.data.step === 'JoinWorker',
        );
        expect(failed).toEqual([]);
        expect((await nodes()).find(({ name }) => name === late)).toMatchObject({ pool: 'web', phase: 'Ready' });
        kubernetes.close();
        return;
      }
      throw new Error(`no token was renewed in ${TRIES_MAX} tries`);
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

  it(
    'wait without an owner where they come before their pool: infra-svc records nothing, and provisions them once a pool claims them [Cluster API 1]',
    async () => {
      const seq = await lastSeq();
      const { status, body: issued } = await system.call<JoinTokenView>('POST', `${CLUSTER}/hosts/join-tokens`, {
        labels: { site: 'barn' },
      });
      expect({ status, body: issued }).toMatchObject({ status: 201 });
      const waiting = async (): Promise<RegisteredHostList['items']> =>
        (await system.call<RegisteredHostList>('GET', `${CLUSTER}/hosts`)).body.items;
      const { console } = await strangeMachine(system, 'barn-1');
      const command = joinCommandOf({ server: system.server, ca: undefined, issued, script: issued.script });
      const ended = console.execCommand(command);
      await eventually(async () => (await waiting()).length === 1, { withinMs: TIMEOUT_MS });
      const [registered] = await waiting();
      expect(registered).toMatchObject({ labels: { site: 'barn' } });
      const since = async (): Promise<StoredEvent[]> => (await events()).filter(({ meta }) => meta.seq > seq);
      const written = async (by: string): Promise<readonly string[]> =>
        (await since()).filter(({ type }) => EVENTS[type].writer === by).map(({ type }) => type);
      // infra-svc has read that the host is registered, and what follows it: a pool that does not select it.
      await declare({ name: 'far', hostSelector: { matchLabels: { site: 'lake' } } });
      await system.call('GET', `${CLUSTER}/nodes?minSeq=${await lastSeq()}`);
      expect(await written('infra-svc')).toEqual([]);
      expect((await waiting()).map(({ name }) => name)).toEqual([registered?.name]);
      await declare({ name: 'barn', hostSelector: { matchLabels: { site: 'barn' } } });
      const { code, stderr, stdout } = await ended;
      console.dispose();
      if (code !== 0) throw new Error(`the command ended with ${code}: ${stderr}${stdout}`);
      await eventually(async () => (await nodes()).some(({ pool, phase }) => pool === 'barn' && phase === 'Ready'), {
        withinMs: TIMEOUT_MS,
      });
      expect(await waiting()).toEqual([]);
      const admitted = (await since()).flatMap((event) => (event.type === 'HostAdmitted' ? [event.data] : []));
      expect(admitted).toMatchObject([{ pool: 'barn', hostId: registered?.name }]);
      expect(await written('infra-svc')).toEqual(expect.arrayContaining(['VmsPlanned', 'VmsCreated']));
    },
    TIMEOUT_MS,
  );
});
