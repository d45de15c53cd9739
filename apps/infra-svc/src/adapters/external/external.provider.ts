import type { MachineSpec } from '@fairlead/contracts';
import type {
  Capabilities,
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
  Region,
  SshKey,
} from '../../providers/provider.ports.js';
import * as answers from './external.answers.js';
import type { ExternalClient, Sent } from './external.client.js';

const refOf = ({ name, namespace, cluster, uid }: GroupRef): GroupRef => ({ name, namespace, cluster, uid });

const all = async (machines: AsyncIterable<ListedMachine>): Promise<readonly ListedMachine[]> => {
  const collected: ListedMachine[] = [];
  for await (const machine of machines) collected.push(machine);
  return collected;
};

/** Machines of an external provider: each method is a call of the protocol. */
export class ExternalProvider implements InfrastructureProvider {
  constructor(
    private readonly client: ExternalClient,
    private readonly connection: Sent,
  ) {}

  verify(signal: AbortSignal): Promise<Capabilities> {
    return this.client.ask(
      this.connection,
      { operation: 'verify connection', method: 'Verify', signal },
      answers.Capabilities,
    );
  }

  async listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    const call = { operation: 'list specs', method: 'ListSpecs', signal } as const;
    return (await this.client.ask(this.connection, call, answers.Specs)).specs;
  }

  async resolveRegion(name: string, signal: AbortSignal): Promise<Region | undefined> {
    const call = { operation: 'resolve region', method: 'ResolveRegion', request: { name }, signal } as const;
    const { found, ...region } = await this.client.ask(this.connection, call, answers.Region);
    return found ? region : undefined;
  }

  async resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    const call = { operation: 'resolve spec', method: 'ListSpecs', signal } as const;
    return (await this.client.ask(this.connection, call, answers.Specs)).specs.find((spec) => spec.name === name);
  }

  resolveImage(signal: AbortSignal): Promise<Image> {
    return this.client.ask(
      this.connection,
      { operation: 'resolve image', method: 'ResolveImage', signal },
      answers.Image,
    );
  }

  ensureNetwork(network: Network, signal: AbortSignal): Promise<Network> {
    const call = { operation: 'ensure network', method: 'EnsureNetwork', request: { network }, signal } as const;
    return this.client.ask(this.connection, call, answers.Network);
  }

  async ensureFirewall({ name, rules }: Firewall, signal: AbortSignal): Promise<Firewall> {
    const sent = rules.map(({ protocol, ports, source }) => ({
      protocol,
      source,
      fromPort: ports?.from ?? 0,
      toPort: ports?.to ?? 0,
    }));
    const request = { firewall: { name, rules: sent } };
    const call = { operation: 'ensure firewall', method: 'EnsureFirewall', request, signal } as const;
    return { name: (await this.client.ask(this.connection, call, answers.Firewall)).name, rules };
  }

  ensureSshKey({ name, publicKey }: SshKey, signal: AbortSignal): Promise<SshKey> {
    const request = { sshKey: { name, publicKey } };
    return this.client.ask(
      this.connection,
      { operation: 'ensure SSH key', method: 'EnsureSshKey', request, signal },
      answers.SshKey,
    );
  }

  async deleteSshKey(name: string, signal: AbortSignal): Promise<void> {
    await this.client.ask(
      this.connection,
      { operation: 'delete SSH key', method: 'DeleteSshKey', request: { name }, signal },
      answers.Empty,
    );
  }

  /** Bounded only by the signal, because machines take longer than the timeout of a call. */
  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    const { image, network, firewall, sshKey } = group;
    const machines = group.machines.map(({ name, spec, zone = '', rootDisk, image: own = '', labels }) => ({
      ...{ name, spec, zone, labels, rootDiskType: rootDisk.type, rootDiskSize: rootDisk.size, image: own },
    }));
    const request = { group: refOf(group), image, network, firewall, sshKey, machines };
    const call = { operation: 'create machines', method: 'EnsureMachines', request, signal } as const;
    for await (const { group: _group, spec: _spec, image: _image, ...report } of this.client.stream(
      this.connection,
      call,
      answers.Machine,
      false,
    ))
      if (report.status === 'running' || report.status === 'failed') yield report;
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    const call = {
      operation: 'describe machines',
      method: 'DescribeMachines',
      request: { group: refOf(group) },
      signal,
    } as const;
    return all(this.client.stream(this.connection, call, answers.Machine));
  }

  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    const call = { operation: 'list machines', method: 'ListMachines', signal } as const;
    return all(this.client.stream(this.connection, call, answers.Machine));
  }

  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    await this.client.ask(
      this.connection,
      { operation: 'delete machine', method: 'DeleteMachine', request: { name: id }, signal },
      answers.Empty,
    );
  }

  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    const request = { group: refOf(group) };
    await this.client.ask(
      this.connection,
      { operation: 'delete machines', method: 'DeleteGroup', request, signal },
      answers.Empty,
    );
  }

  ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    const { group, ...request } = desired;
    const call = {
      operation: 'ensure load balancer',
      method: 'EnsureLoadBalancer',
      request: { ...request, group: refOf(group) },
      signal,
    } as const;
    return this.client.ask(this.connection, call, answers.LoadBalancer);
  }

  async deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void> {
    const call = {
      operation: 'delete load balancer',
      method: 'DeleteLoadBalancer',
      request: { name },
      signal,
    } as const;
    await this.client.ask(this.connection, call, answers.Empty);
  }
}
