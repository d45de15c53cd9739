import type { ClusterUid, MachineSpec, NodeName, Refusal } from '@fairlead/contracts';
import type {
  Capabilities,
  CapacityRequest,
  Firewall,
  GroupRef,
  Image,
  InfrastructureProvider,
  ListedMachine,
  LoadBalancer,
  LoadBalancerSpec,
  MachineAnswer,
  MachineGroup,
  MachineReport,
  Network,
  ProviderOperation,
  Region,
  SshKey,
} from '../../providers/provider.ports.js';
import { CloudAddresses, type Marked } from './neutron.addresses.js';
import { CloudFirewalls } from './neutron.firewalls.js';
import { CloudNetworks, externalNetwork } from './neutron.networks.js';
import { reportOf } from './nova.reports.js';
import {
  CloudServers,
  groupNameOf,
  imageOf,
  isControlPlane,
  nodeNameOf,
  oldestOfEach,
  uidOf,
  type ServerSurroundings,
} from './nova.servers.js';
import * as answers from './openstack.answers.js';
import { CloudCalls } from './openstack.calls.js';
import type { Mark } from './openstack.marks.js';
import { addressQuotas, quotaRefusal, serverQuotas } from './openstack.quotas.js';
import type { CloudSession, Service } from './openstack.session.js';

/** CB-Ladybug's port of the load-balanced API: the API servers themselves listen on 6443 of the same hosts. */
const BALANCED_PORT = 9998;
const MIB_PER_GIB = 1_024;

/**
 * Leftovers of a cluster besides servers are listed too, so that operators see and delete them. The kind is part of the
 * ID.
 */
const LEFTOVERS = { floatingIp: 'floating-ip', port: 'port', serverGroup: 'server-group' } as const;

const specOf = ({ name, vcpus, ram }: answers.Flavor): MachineSpec => ({
  name,
  cpuCount: vcpus,
  memoryGiB: ram / MIB_PER_GIB,
  cpuClockGHz: null,
});

/** Machines in an OpenStack project. Stateless: every resource is marked with its owner (openstack.marks.ts). */
export class OpenstackProvider implements InfrastructureProvider {
  constructor(private readonly session: CloudSession) {}

  async verify(signal: AbortSignal): Promise<Capabilities> {
    const operation = 'verify connection';
    await this.to('Nova', operation, signal).get('/', answers.Version);
    const neutron = this.to('Neutron', operation, signal);
    await externalNetwork(neutron);
    const { network } = this.session.at.settings;
    if (network !== undefined) await new CloudNetworks(neutron).named(network);
    await this.image(operation, signal);
    return { nlb: false, simulated: false };
  }

  async listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    return (await this.flavors('list specs', signal)).map(specOf);
  }

  async resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    const found = (await this.flavors('resolve spec', signal)).find((flavor) => flavor.name === name);
    return found === undefined ? undefined : specOf(found);
  }

  async resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined> {
    const operation = 'resolve region';
    if (!(await this.session.regionsOf('Nova', operation, signal)).includes(region)) return undefined;
    const nova = new CloudCalls(this.session, { service: 'Nova', operation, signal, region });
    const { availabilityZoneInfo } = await nova.get('/os-availability-zone', answers.Zones);
    const usable = availabilityZoneInfo.filter(({ zoneState }) => zoneState.available);
    return { name: region, zones: usable.map(({ zoneName }) => zoneName) };
  }

  async resolveImage(signal: AbortSignal): Promise<Image> {
    const { os_distro: distro, os_version: version } = await this.image('resolve image', signal);
    const { image: name } = this.session.at.settings;
    return { name, os: distro ? [distro, version].filter(Boolean).join(' ') : name };
  }

  ensureNetwork(desired: Network, signal: AbortSignal): Promise<Network> {
    return new CloudNetworks(this.to('Neutron', 'ensure network', signal)).ensure(desired);
  }

  ensureFirewall(desired: Firewall, signal: AbortSignal): Promise<Firewall> {
    return new CloudFirewalls(this.to('Neutron', 'ensure firewall', signal)).ensure(desired);
  }

  async ensureSshKey({ name, publicKey }: SshKey, signal: AbortSignal): Promise<SshKey> {
    const nova = this.to('Nova', 'ensure SSH key', signal);
    const found = await nova.find(`/os-keypairs/${encodeURIComponent(name)}`, answers.OneKeypair);
    const body = { keypair: { name, type: 'ssh', public_key: publicKey } };
    const { keypair } = found ?? (await nova.post('/os-keypairs', body, answers.OneKeypair));
    return { name, publicKey: keypair.public_key.trim() };
  }

  deleteSshKey(name: string, signal: AbortSignal): Promise<void> {
    return this.to('Nova', 'delete SSH key', signal).delete(`/os-keypairs/${encodeURIComponent(name)}`);
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    signal.throwIfAborted();
    const operation = 'create machines';
    const servers = new CloudServers(this.to('Nova', operation, signal));
    await this.refuseGone(group, operation, signal);
    for (const machine of group.machines) await servers.adopt(group, machine, machine.image ?? group.image);
    await this.createMissing(group, servers, operation, signal);
    const waiting = new Set<string>(group.machines.map(({ name }) => name));
    for (;;) {
      const now = await this.withoutTwins(group, servers);
      for (const name of waiting) {
        const answer = await this.answerOf(group, name as NodeName, now.get(name), signal);
        if (answer === undefined) continue;
        waiting.delete(name);
        yield answer;
      }
      if (waiting.size === 0) return;
      await servers.wait();
    }
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    const all = await this.reports('describe machines', signal, ({ name }) => name === group.name);
    return all.map(({ report }) => report);
  }

  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    const operation = 'list machines';
    const all = await this.reports(operation, signal, () => true);
    const machines = all.map(({ server, report }) => ({
      ...report,
      group: groupNameOf(server),
      ...(server.flavor?.original_name ? { spec: server.flavor.original_name } : {}),
      ...(imageOf(server) === undefined ? {} : { image: imageOf(server)! }),
    }));
    return [
      ...machines,
      ...(await this.leftovers(
        all.map(({ server }) => server),
        operation,
        signal,
      )),
    ];
  }

  /** Resolves once nothing is left: the port and the volume go with the server, and the floating IP after it. */
  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    const operation = 'delete machine';
    const [kind, own] = id.split('/');
    const nova = this.to('Nova', operation, signal);
    const neutron = this.to('Neutron', operation, signal);
    if (own === undefined) {
      await new CloudServers(nova).delete(id);
      await new CloudAddresses(neutron).releaseOf(({ of }) => of === id);
    } else if (kind === LEFTOVERS.floatingIp) await neutron.delete(`/floatingips/${encodeURIComponent(own)}`);
    else if (kind === LEFTOVERS.port) await neutron.delete(`/ports/${encodeURIComponent(own)}`);
    else if (kind === LEFTOVERS.serverGroup) await nova.delete(`/os-server-groups/${encodeURIComponent(own)}`);
  }

  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    const operation = 'delete machines';
    const neutron = this.to('Neutron', operation, signal);
    const servers = new CloudServers(this.to('Nova', operation, signal));
    // First, so that no concurrent request can create anything for it.
    await new CloudFirewalls(neutron).rememberGone(group.uid);
    const own = await servers.ofGroup(group);
    await Promise.all(own.map(({ id }) => servers.delete(id)));
    const isOwn = (mark: Mark): boolean => mark.uid === group.uid;
    const addresses = new CloudAddresses(neutron);
    await addresses.releaseOf(isOwn);
    await addresses.releaseShared(({ mark }) => isOwn(mark));
    await servers.deleteServerGroups(isOwn);
  }

  async checkCapacity(request: CapacityRequest, signal: AbortSignal): Promise<Refusal | undefined> {
    const operation = 'verify connection';
    const flavors = await this.flavors(operation, signal);
    const project = `the OpenStack project of connection ${this.session.at.connection}`;
    const quotas = [
      ...(await serverQuotas(this.to('Nova', operation, signal), request, flavors)),
      ...(await addressQuotas(this.to('Neutron', operation, signal), request)),
    ];
    return quotaRefusal(project, quotas);
  }

  /** haproxy and keepalived on the control planes serve an address that is reserved for them in their network. */
  async ensureLoadBalancer({ name, group, targets }: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    const operation = 'ensure load balancer';
    const neutron = this.to('Neutron', operation, signal);
    const addresses = new CloudAddresses(neutron);
    const own = await new CloudNetworks(neutron).shared();
    const firewall = await new CloudFirewalls(neutron).shared();
    const host = await addresses.ensureShared(group, name, own, firewall.id);
    for (const target of targets) await addresses.allow(target, host);
    return { name, host, port: BALANCED_PORT, placement: 'control-planes' };
  }

  async deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void> {
    const addresses = new CloudAddresses(this.to('Neutron', 'delete load balancer', signal));
    await addresses.releaseShared((port) => port.name === name);
  }

  private to(service: Service, operation: ProviderOperation, signal: AbortSignal): CloudCalls {
    return new CloudCalls(this.session, { service, operation, signal });
  }

  private flavors(operation: ProviderOperation, signal: AbortSignal): Promise<readonly answers.Flavor[]> {
    return this.to('Nova', operation, signal).list('/flavors/detail', 'flavors', answers.Flavor);
  }

  /** Finds an image by ID or by name; of several with one name, the newest. */
  private async image(
    operation: ProviderOperation,
    signal: AbortSignal,
    text = this.session.at.settings.image,
  ): Promise<answers.Image> {
    const glance = this.to('Glance', operation, signal);
    const query = `name=${encodeURIComponent(text)}&status=active&sort=created_at:desc&limit=1`;
    const [named] = (await glance.get(`/images?${query}`, answers.Images)).images;
    const found = named ?? (isUuid(text) ? await glance.find(`/images/${text}`, answers.Image) : undefined);
    if (found === undefined) throw glance.refusal(`the project sees no image ${text}`);
    if (found.status !== 'active') throw glance.refusal(`image ${text} is ${found.status}, not active`);
    return found;
  }

  private async refuseGone(group: GroupRef, operation: ProviderOperation, signal: AbortSignal): Promise<void> {
    const neutron = this.to('Neutron', operation, signal);
    if (await new CloudFirewalls(neutron).isGone(group.uid)) throw neutron.refusal(`group ${group.name} was deleted`);
  }

  private async createMissing(
    group: MachineGroup,
    servers: CloudServers,
    operation: ProviderOperation,
    signal: AbortSignal,
  ): Promise<void> {
    const there = new Set((await servers.ofGroup(group)).map(nodeNameOf));
    const missing = group.machines.filter(({ name }) => !there.has(name));
    if (missing.length === 0) return;
    const around = await this.surroundings({ ...group, machines: missing }, servers, operation, signal);
    const made = await Promise.allSettled(missing.map((machine) => servers.create(group, machine, around)));
    // The incarnation may have been deleted in the meantime: then the created resources are deleted too.
    if (await new CloudFirewalls(this.to('Neutron', operation, signal)).isGone(group.uid)) {
      await this.deleteGroup(group, signal);
      await this.refuseGone(group, operation, signal);
    }
    const failed = made.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Each image of the machines once, by its requested name. */
  private async imagesOf(
    { image, machines }: MachineGroup,
    operation: ProviderOperation,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, answers.Image>> {
    const names = [...new Set(machines.map((machine) => machine.image ?? image))];
    return new Map(
      await Promise.all(names.map(async (name) => [name, await this.image(operation, signal, name)] as const)),
    );
  }

  private async surroundings(
    group: MachineGroup,
    servers: CloudServers,
    operation: ProviderOperation,
    signal: AbortSignal,
  ): Promise<ServerSurroundings> {
    const neutron = this.to('Neutron', operation, signal);
    const { network } = await new CloudNetworks(neutron).named(group.network);
    const firewall = await new CloudFirewalls(neutron).named(group.firewall);
    if (firewall === undefined) throw neutron.failure(`security group ${group.firewall} is gone`);
    const hasControlPlanes = group.machines.some(isControlPlane);
    return {
      network: network.id,
      firewall: firewall.id,
      keypair: group.sshKey,
      images: await this.imagesOf(group, operation, signal),
      imageName: group.image,
      flavors: await this.flavors(operation, signal),
      serverGroup: hasControlPlanes ? await servers.ensureServerGroup(group) : undefined,
    };
  }

  /** The servers of a group by machine name, after deleting younger duplicates. */
  private async withoutTwins(group: GroupRef, servers: CloudServers): Promise<ReadonlyMap<string, answers.Server>> {
    const all = await servers.ofGroup(group);
    const oldest = new Set(oldestOfEach(all).values());
    for (const twin of all.filter((server) => !oldest.has(server))) await servers.delete(twin.id);
    return new Map([...oldest].map((server) => [nodeNameOf(server), server]));
  }

  private async answerOf(
    group: GroupRef,
    name: NodeName,
    server: answers.Server | undefined,
    signal: AbortSignal,
  ): Promise<MachineAnswer | undefined> {
    const { uid } = group;
    if (server === undefined)
      return { id: '', name, uid, status: 'failed', message: 'the server was deleted at the cloud while it was made' };
    const made = reportOf(server, '', this.session.at);
    if (made.status === 'failed') return made;
    if (made.status !== 'running') return undefined;
    const addresses = new CloudAddresses(this.to('Neutron', 'create machines', signal));
    const known = await addresses.floatingIps();
    const floating = await addresses.ensureFloatingIp(group, server.id, known);
    const report = reportOf(server, floating?.floating_ip_address ?? '', this.session.at);
    return report.status === 'running' ? report : undefined;
  }

  private async reports(
    operation: ProviderOperation,
    signal: AbortSignal,
    isDesired: (group: { readonly name: string }) => boolean,
  ): Promise<readonly { readonly server: answers.Server; readonly report: MachineReport }[]> {
    const servers = await new CloudServers(this.to('Nova', operation, signal)).all();
    const desired = servers.filter((server) => isDesired({ name: groupNameOf(server) }));
    if (desired.length === 0) return [];
    const floating = await new CloudAddresses(this.to('Neutron', operation, signal)).floatingIps();
    const byServer = new Map(floating.map(({ mark, floating_ip_address: address }) => [mark.of, address]));
    return desired.map((server) => ({
      server,
      report: reportOf(server, byServer.get(server.id) ?? '', this.session.at),
    }));
  }

  /** Resources of servers or clusters that no longer exist. */
  private async leftovers(
    servers: readonly answers.Server[],
    operation: ProviderOperation,
    signal: AbortSignal,
  ): Promise<readonly ListedMachine[]> {
    const addresses = new CloudAddresses(this.to('Neutron', operation, signal));
    const ids = new Set(servers.map(({ id }) => id));
    const uids = new Set(servers.map(uidOf));
    const left = (kind: string, id: string, what: string, { group, uid }: Mark): ListedMachine => ({
      ...{ id: `${kind}/${id}`, name: kind as NodeName, uid: uid as ClusterUid },
      ...{ status: 'stopped', group, spec: what },
    });
    const floating = (await addresses.floatingIps()).filter(({ mark }) => !ids.has(mark.of));
    const ports: readonly Marked<answers.Port>[] = (await addresses.ports()).filter(({ mark }) => !uids.has(mark.uid));
    const groups = await new CloudServers(this.to('Nova', operation, signal)).serverGroups();
    return [
      ...floating.map((one) => left(LEFTOVERS.floatingIp, one.id, `floating IP ${one.floating_ip_address}`, one.mark)),
      ...ports.map((one) => left(LEFTOVERS.port, one.id, `port ${one.fixed_ips[0]?.ip_address ?? ''}`, one.mark)),
      ...groups
        .filter(({ mark }) => !uids.has(mark.uid))
        .map((one) => left(LEFTOVERS.serverGroup, one.id, 'server group', one.mark)),
    ];
  }
}

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
