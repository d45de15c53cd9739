// An example of a provider that is a process of its own (docs/provider-protocol.md). Its machines are a simulation: rows in memory.
//   node docs/examples/provider/provider.mjs 127.0.0.1:7801
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const proto = fileURLToPath(new URL('../../provider.v1.proto', import.meta.url));
const { Provider } = grpc.loadPackageDefinition(loader.loadSync(proto, { defaults: true })).fairlead.provider.v1;

const BOOT_MS = 20;
const SPECS = [
  { name: 'example.small', cpuCount: 1, memoryGib: 2 },
  { name: 'example.medium', cpuCount: 2, memoryGib: 4 },
];
const REGION = { found: true, name: 'example-1', zones: ['example-1a', 'example-1b'] };

/** What the cloud remembers: nothing of it is the provider's. Names are those of one connection. */
const cloud = { networks: new Map(), keys: new Map(), machines: new Map(), balancers: new Map(), gone: new Set() };

const refuse = (details, code = grpc.status.FAILED_PRECONDITION) =>
  Object.assign(new Error(details), { code, details });
const scoped = ({ connection }, name) => `${connection.name}/${name}`;

const address = () => {
  const used = new Set([...cloud.machines.values()].map(({ privateIp }) => privateIp));
  for (let host = 10; host < 250; host += 1) if (!used.has(`192.168.77.${host}`)) return `192.168.77.${host}`;
  throw refuse('the network has no address left', grpc.status.RESOURCE_EXHAUSTED);
};

const create = ({ connection, group, image, sshKey }, desired) => {
  if (!SPECS.some(({ name }) => name === desired.spec)) throw refuse(`there is no size ${desired.spec}`);
  const privateIp = address();
  const machine = {
    ...{ id: randomUUID(), name: desired.name, uid: group.uid, group: group.name, status: 'creating', message: '' },
    ...{ publicIp: '', privateIp, region: REGION.name, zone: desired.zone || REGION.zones[0] },
    ...{
      ssh: { host: privateIp, port: 22, user: 'root', hostKey: '' },
      sshKey,
      spec: desired.spec,
      image: desired.image || image,
    },
    ...{ connection: connection.name, bornAt: Date.now() },
  };
  cloud.machines.set(machine.id, machine);
  return machine;
};

const now = (machine) => ({ ...machine, status: Date.now() - machine.bornAt < BOOT_MS ? 'creating' : 'running' });
const ofGroup = ({ connection, group }) =>
  [...cloud.machines.values()].filter((one) => one.connection === connection.name && one.group === group.name).map(now);

/** Calls that answer once. */
const answers = {
  Verify: () => ({ nlb: false, simulated: true }),
  ListSpecs: () => ({ specs: SPECS }),
  ResolveRegion: ({ name }) => (name === REGION.name ? REGION : { found: false }),
  ResolveImage: () => ({ name: 'debian-12', os: 'debian 12' }),
  EnsureNetwork: (request) => {
    const key = scoped(request, request.network.name);
    if (!cloud.networks.has(key)) cloud.networks.set(key, request.network);
    return cloud.networks.get(key);
  },
  EnsureFirewall: ({ firewall }) => firewall,
  EnsureSshKey: (request) => {
    const key = scoped(request, request.sshKey.name);
    if (!cloud.keys.has(key)) cloud.keys.set(key, request.sshKey);
    return cloud.keys.get(key);
  },
  DeleteSshKey: (request) => void cloud.keys.delete(scoped(request, request.name)),
  DeleteMachine: ({ name }) => void cloud.machines.delete(name),
  DeleteGroup: (request) => {
    cloud.gone.add(request.group.uid);
    for (const { id, uid } of ofGroup(request)) if (uid === request.group.uid) cloud.machines.delete(id);
  },
  EnsureLoadBalancer: (request) => {
    const key = scoped(request, request.name);
    if (!cloud.balancers.has(key))
      cloud.balancers.set(key, { name: request.name, host: '192.168.77.250', port: 6443, placement: 'provider' });
    return cloud.balancers.get(key);
  },
  DeleteLoadBalancer: (request) => void cloud.balancers.delete(scoped(request, request.name)),
};

/** Calls that send machines, one after the other. */
const streams = {
  ListMachines: async ({ request: { connection }, write }) => {
    for (const one of cloud.machines.values()) if (one.connection === connection.name) write(now(one));
  },
  DescribeMachines: async ({ request, write }) => ofGroup(request).forEach(write),
  EnsureMachines: async ({ request, write, isCancelled }) => {
    const waiting = new Set(request.machines.map(({ name }) => name));
    while (waiting.size > 0 && !isCancelled()) {
      // Also one that was asked for before the deletion, and goes on after it.
      if (cloud.gone.has(request.group.uid)) throw refuse(`group ${request.group.name} was deleted`);
      const there = ofGroup(request).filter(({ uid }) => uid === request.group.uid);
      for (const desired of request.machines)
        if (waiting.has(desired.name) && !there.some(({ name }) => name === desired.name)) create(request, desired);
      for (const machine of there) if (machine.status === 'running' && waiting.delete(machine.name)) write(machine);
      if (waiting.size > 0) await pause(BOOT_MS);
    }
  },
};

const statusOf = (error) => ({ code: error.code ?? grpc.status.INTERNAL, details: error.details ?? error.message });

const once = (answer) => (call, done) => {
  try {
    done(null, answer(call.request) ?? {});
  } catch (error) {
    done(statusOf(error));
  }
};
const streamed = (send) => async (call) => {
  try {
    await send({ request: call.request, write: (one) => call.write(one), isCancelled: () => call.cancelled });
    call.end();
  } catch (error) {
    call.emit('error', statusOf(error));
  }
};
const handlers = {
  ...Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, once(answer)])),
  ...Object.fromEntries(Object.entries(streams).map(([name, send]) => [name, streamed(send)])),
};

/** Serves the provider; resolves to its address and to what ends it. */
export const serve = (at) =>
  new Promise((resolve, reject) => {
    const server = new grpc.Server();
    server.addService(Provider.service, handlers);
    server.bindAsync(at, grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error !== null) return reject(error);
      resolve({
        address: at.startsWith('unix:') ? at : `${at.slice(0, at.lastIndexOf(':'))}:${port}`,
        stop: () => server.forceShutdown(),
      });
    });
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { address: served } = await serve(process.argv[2] ?? '127.0.0.1:7801');
  process.stdout.write(`the example provider is served at ${served}\n`);
}
