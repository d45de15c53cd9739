import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod';
import { describeProvider } from '../../apps/infra-svc/src/adapters/provider.features.js';
import {
  answersOf,
  cloudGroup,
  cloudSession,
  openCloud,
  shareResources,
  type CloudAccess,
} from '../../apps/infra-svc/src/adapters/openstack/openstack.fixtures.js';
import { CloudServers } from '../../apps/infra-svc/src/adapters/openstack/nova.servers.js';
import { CloudCalls } from '../../apps/infra-svc/src/adapters/openstack/openstack.calls.js';
import { OpenstackProvider } from '../../apps/infra-svc/src/adapters/openstack/openstack.provider.js';
import { Recorder } from '../../apps/infra-svc/src/adapters/openstack/recorder.fixtures.js';
import { opensshKeys } from '../../apps/infra-svc/src/adapters/ssh-keys/openssh.keys.js';

/**
 * OpenStack's own services: Debian's Keystone, Placement, Nova, Neutron and Glance, in this namespace. Simulated are the hypervisor (Nova's
 * fake driver: no server boots) and the wiring of ports (Neutron's test mechanism driver).
 */
const MINUTE_MS = 60_000;
const LIMITS = { callsMax: 4, timeoutMs: 60_000, pollMs: 500 };
const { publicKey } = opensshKeys.generate('spec');

interface Services {
  readonly access: CloudAccess & { readonly project: string };
  stop(): Promise<void>;
}

/** Running services, by their access in `FAIRLEAD_OPENSTACK`, or ones started from `FAIRLEAD_OPENSTACK_ROOT`. */
const startServices = async (env: NodeJS.ProcessEnv): Promise<Services> => {
  const given = env['FAIRLEAD_OPENSTACK'];
  if (given !== undefined) return { access: JSON.parse(given) as Services['access'], stop: async () => undefined };
  const script = fileURLToPath(new URL('../../tools/openstack/start.sh', import.meta.url));
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(script, [env['FAIRLEAD_OPENSTACK_ROOT'] ?? ''], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let text = '';
  const access = await new Promise<Services['access']>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      if (text.includes('\n')) resolve(JSON.parse(text) as Services['access']);
    });
    child.once('exit', (code) => reject(new Error(`OpenStack's services ended with ${code}`)));
  });
  return {
    access,
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
};

/** All resources of the project, as its own tenant sees them. */
const resourcesOf = async ({ access }: Services, signal: AbortSignal): Promise<readonly string[]> => {
  const session = cloudSession(access, LIMITS);
  const named = z.object({ id: z.string(), name: z.string().nullish(), description: z.string().nullish() });
  const list = async (service: 'Nova' | 'Neutron', path: string, key: string): Promise<readonly string[]> => {
    const calls = new CloudCalls(session, { service, operation: 'list machines', signal });
    const all = await calls.list(path, key, named);
    return all.map(({ id, name, description }) => `${key} ${id} ${name ?? ''} ${description ?? ''}`);
  };
  const project = `?project_id=${access.project}`;
  return [
    ...(await list('Nova', '/servers/detail', 'servers')),
    ...(await list('Nova', '/os-server-groups', 'server_groups')),
    ...(await list('Neutron', `/networks${project}`, 'networks')),
    ...(await list('Neutron', `/subnets${project}`, 'subnets')),
    ...(await list('Neutron', `/routers${project}`, 'routers')),
    ...(await list('Neutron', `/ports${project}`, 'ports')),
    ...(await list('Neutron', `/floatingips${project}`, 'floatingips')),
    ...(await list('Neutron', `/security-groups${project}`, 'security_groups')),
  ].sort();
};

jest.setTimeout(5 * MINUTE_MS);

let services: Promise<Services> | undefined;
const running = (): Promise<Services> => (services ??= startServices(process.env));

beforeAll(running, 10 * MINUTE_MS);
afterAll(async () => (await services)?.stop(), MINUTE_MS);

describeProvider(
  "openstack, of Debian's own services",
  async () => {
    const { access } = await running();
    const recorder = new Recorder();
    return {
      open: () => new OpenstackProvider(recorder.sessionTo(access, LIMITS)),
      connection: 'openstack',
      region: access.region,
      spec: 'm1.medium',
      publicKey,
      adopts: true,
      stop: async () => {
        const file = process.env['FAIRLEAD_RECORD_OPENSTACK'];
        if (file !== undefined) writeFileSync(file, `${JSON.stringify(recorder.shapes(), null, 2)}\n`);
      },
    };
  },
  5 * MINUTE_MS,
);

describe("a project of OpenStack's own services", () => {
  const signal = (): AbortSignal => AbortSignal.timeout(4 * MINUTE_MS);
  const open = async (settings = {}) => openCloud((await running()).access, LIMITS, settings);

  beforeAll(async () => shareResources(await open(), publicKey, signal()), MINUTE_MS);

  it('has the same resources before the creation and after the deletion of a cluster of 3 + 2', async () => {
    const provider = await open();
    const before = await resourcesOf(await running(), signal());
    const controlPlanes = cloudGroup(3, { role: 'control-plane' });
    const workers = cloudGroup(2);
    const group = { ...controlPlanes, machines: [...controlPlanes.machines, ...workers.machines] };
    const made = await answersOf(provider, group, signal());
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 'running'));
    expect(made.every((machine) => machine.status === 'running' && machine.publicIp.startsWith('203.0.113.'))).toBe(
      true,
    );
    const [scaled] = await answersOf(provider, { ...group, machines: cloudGroup(1).machines }, signal());
    expect(await provider.describeMachines(group, signal())).toHaveLength(6);
    await provider.deleteMachine(scaled!.id, signal());
    const name = `${group.namespace}.${group.cluster}`;
    const targets = made.map(({ id }) => id).slice(0, 3);
    const balancer = { name, group, kind: 'haproxy', targetPort: 6443, healthPath: '/readyz', targets } as const;
    expect(await provider.ensureLoadBalancer(balancer, signal())).toMatchObject({ placement: 'control-planes' });
    // One per server, its port and its floating IP; the shared address; the server group.
    expect((await resourcesOf(await running(), signal())).length).toBe(before.length + 5 * 3 + 1 + 1);
    await provider.deleteLoadBalancer(name, signal());
    await provider.deleteGroup(group, signal());
    expect(await resourcesOf(await running(), signal())).toEqual(before);
  });

  it('reports why a server is in ERROR, and leaves nothing of it', async () => {
    const provider = await open({ antiAffinity: 'required' });
    const before = await resourcesOf(await running(), signal());
    const group = cloudGroup(2, { role: 'control-plane' });
    const answers = await answersOf(provider, group, signal());
    expect(answers.map(({ status }) => status).sort()).toEqual(['failed', 'running']);
    expect(answers.find(({ status }) => status === 'failed')).toMatchObject({
      message: expect.stringContaining('No valid host was found'),
    });
    await provider.deleteGroup(group, signal());
    expect(await resourcesOf(await running(), signal())).toEqual(before);
  });

  it('refuses with a message what exceeds the quota of the project, before anything is created', async () => {
    const provider = await open();
    const group = cloudGroup(1);
    const request = { group, specs: Array.from({ length: 11 }, () => 'm1.small'), controlPlanes: 1 };
    expect(await provider.checkCapacity?.(request, signal())).toMatchObject({
      code: 'quota.exceeded',
      message: expect.stringContaining('may have 10 servers and has 0, and the request adds 11'),
    });
    expect(await provider.checkCapacity?.({ ...request, specs: ['m1.small'] }, signal())).toBeUndefined();
    const huge = cloudGroup(1, { spec: 'm1.huge' });
    await expect(answersOf(provider, huge, signal())).rejects.toMatchObject({
      message: expect.stringMatching(/^Quota exceeded for cores.*\(Nova, HTTP 403, req-/),
      retryable: false,
    });
    await provider.deleteGroup(huge, signal());
  });

  it('lists what remains of a deleted cluster, of every kind, and deletes it', async () => {
    const { access } = await running();
    const provider = await open();
    const before = await resourcesOf(await running(), signal());
    const group = cloudGroup(1, { role: 'control-plane' });
    const [machine] = await answersOf(provider, group, signal());
    const balancer = {
      name: 'spec.left',
      group,
      kind: 'haproxy',
      targetPort: 6443,
      healthPath: '/',
      targets: [],
    } as const;
    await provider.ensureLoadBalancer(balancer, signal());
    // Like in the dashboard: only the server.
    const nova = new CloudCalls(cloudSession(access, LIMITS), {
      service: 'Nova',
      operation: 'delete machine',
      signal: signal(),
    });
    await new CloudServers(nova).delete(machine!.id);
    const left = (await provider.listMachines(signal())).filter((one) => one.group === group.name);
    expect(left.map(({ id }) => id.split('/')[0]).sort()).toEqual(['floating-ip', 'port', 'server-group']);
    for (const { id } of left) await provider.deleteMachine(id, signal());
    expect((await provider.listMachines(signal())).filter((one) => one.group === group.name)).toEqual([]);
    expect(await resourcesOf(await running(), signal())).toEqual(before);
  });

  it('rejects another secret, and does not reveal it', async () => {
    const { access } = await running();
    const other = openCloud({ ...access, secret: 'another-secret' }, LIMITS);
    await expect(other.verify(signal())).rejects.toMatchObject({
      message: expect.stringMatching(/^Keystone does not accept the application credential \w+ \(HTTP 401\)/),
      retryable: false,
    });
  });
});
