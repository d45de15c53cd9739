import type { GroupRef } from '../../providers/provider.ports.js';
import * as answers from './openstack.answers.js';
import type { CloudCalls } from './openstack.calls.js';
import { groupMark, markIn, type Mark } from './openstack.marks.js';
import { externalNetwork, type OwnNetwork } from './neutron.networks.js';

export type Marked<Resource> = Resource & { readonly mark: Mark };

/** The suffix of the mark of a port with a shared address. */
const BALANCER = 'balancer';

/** Floating IPs of machines, and addresses that control planes share. The description of each has the owner. */
export class CloudAddresses {
  constructor(private readonly neutron: CloudCalls) {}

  /** All floating IPs of the connection, of any cluster. */
  floatingIps(): Promise<readonly Marked<answers.FloatingIp>[]> {
    return this.marked('floatingips', answers.FloatingIp);
  }

  ports(): Promise<readonly Marked<answers.Port>[]> {
    return this.marked('ports', answers.Port);
  }

  /** The floating IP of a server; undefined if the settings have no external network, or disable floating IPs. */
  async ensureFloatingIp(
    group: GroupRef,
    server: string,
    known: readonly Marked<answers.FloatingIp>[],
  ): Promise<answers.FloatingIp | undefined> {
    const external = await this.external();
    if (external === undefined) return undefined;
    const [port] = await this.neutron.list(`/ports?device_id=${server}`, 'ports', answers.Port);
    if (port === undefined) throw this.neutron.failure(`server ${server} has no port`);
    const found = known.find(({ mark }) => mark.of === server);
    if (found?.port_id === port.id) return found;
    const fields = { port_id: port.id };
    if (found !== undefined)
      return (await this.neutron.put(`/floatingips/${found.id}`, { floatingip: fields }, answers.OneFloatingIp))
        .floatingip;
    const made = { ...fields, floating_network_id: external.id, description: groupMark(group, server) };
    return (await this.neutron.post('/floatingips', { floatingip: made }, answers.OneFloatingIp)).floatingip;
  }

  async releaseOf(isOf: (mark: Mark) => boolean): Promise<void> {
    for (const { id, mark } of await this.floatingIps())
      if (isOf(mark)) await this.neutron.delete(`/floatingips/${id}`);
  }

  /**
   * The address that the control planes of a cluster share: a port without a server, which the ports of their servers
   * may use.
   */
  async ensureShared(
    group: GroupRef,
    name: string,
    { network, subnet }: OwnNetwork,
    firewall: string,
  ): Promise<string> {
    const mark = groupMark(group, BALANCER);
    const found = (await this.ports()).find(({ description }) => description === mark);
    const port = found ?? (await this.makePort({ name, mark, network, subnet, firewall }));
    const [address] = port.fixed_ips;
    if (address === undefined) throw this.neutron.failure(`port ${name} has no address`);
    return address.ip_address;
  }

  /** Neutron drops packets of a port from any address that is neither its own nor allowed here. */
  async allow(server: string, address: string): Promise<void> {
    for (const port of await this.neutron.list(`/ports?device_id=${server}`, 'ports', answers.Port)) {
      const pairs = port.allowed_address_pairs.map(({ ip_address }) => ({ ip_address }));
      if (pairs.some(({ ip_address: allowed }) => allowed === address)) continue;
      const body = { port: { allowed_address_pairs: [...pairs, { ip_address: address }] } };
      await this.neutron.put(`/ports/${port.id}`, body, answers.Anything);
    }
  }

  async releaseShared(isOf: (port: Marked<answers.Port>) => boolean): Promise<void> {
    for (const port of await this.ports()) if (isOf(port)) await this.neutron.delete(`/ports/${port.id}`);
  }

  private async external(): Promise<answers.Network | undefined> {
    return this.neutron.session.at.settings.floatingIps ? externalNetwork(this.neutron) : undefined;
  }

  private async makePort(of: {
    readonly name: string;
    readonly mark: string;
    readonly network: answers.Network;
    readonly subnet: answers.Subnet;
    readonly firewall: string;
  }): Promise<answers.Port> {
    const port = {
      name: of.name,
      description: of.mark,
      network_id: of.network.id,
      fixed_ips: [{ subnet_id: of.subnet.id }],
      security_groups: [of.firewall],
    };
    return (await this.neutron.post('/ports', { port }, answers.OnePort)).port;
  }

  private async marked<Resource extends { readonly id: string; readonly description?: string | null | undefined }>(
    kind: 'floatingips' | 'ports',
    schema: Parameters<CloudCalls['list']>[2],
  ): Promise<readonly Marked<Resource>[]> {
    const { session } = this.neutron;
    const project = await session.projectId('list machines', this.neutron.signal);
    const all = (await this.neutron.list(`/${kind}?project_id=${project}`, kind, schema)) as readonly Resource[];
    return all.flatMap((one) => {
      const mark = markIn(one.description, session.at.connection);
      return mark === undefined ? [] : [{ ...one, mark }];
    });
  }
}
