import type { Network } from '../../providers/provider.ports.js';
import * as answers from './openstack.answers.js';
import type { CloudCalls } from './openstack.calls.js';
import { sharedMark } from './openstack.marks.js';

export interface OwnNetwork {
  readonly network: answers.Network;
  /** Its IPv4 subnet. */
  readonly subnet: answers.Subnet;
}

const named = (kind: string, name: string): string => `/${kind}?name=${encodeURIComponent(name)}`;

/** Finds a network by ID or by name. An ambiguous name does not match. */
const given = async (neutron: CloudCalls, text: string): Promise<answers.Network> => {
  const [byId] = await neutron.list(`/networks?id=${encodeURIComponent(text)}`, 'networks', answers.Network);
  if (byId !== undefined) return byId;
  const [found, ...others] = await neutron.list(named('networks', text), 'networks', answers.Network);
  if (found === undefined) throw neutron.refusal(`the project sees no network ${text}`);
  if (others.length === 0) return found;
  throw neutron.refusal(`${others.length + 1} networks are called ${text}; give its ID`);
};

const subnetOf = async (neutron: CloudCalls, { id }: answers.Network): Promise<answers.Subnet | undefined> => {
  const all = await neutron.list(`/subnets?network_id=${id}`, 'subnets', answers.Subnet);
  return all.find((subnet) => subnet.ip_version === 4);
};

/** The network of floating IPs; undefined if the settings have no external network. */
export const externalNetwork = async (neutron: CloudCalls): Promise<answers.Network | undefined> => {
  const { externalNetwork: name } = neutron.session.at.settings;
  return name === undefined ? undefined : given(neutron, name);
};

/** The network that all clusters of a connection share: a given one, or one that is created. */
export class CloudNetworks {
  constructor(private readonly neutron: CloudCalls) {}

  private get mark(): string {
    return sharedMark(this.neutron.session.at.connection);
  }

  /** An existing network keeps its own range. */
  async ensure({ name, subnet, cidr }: Network): Promise<Network> {
    const { network: text } = this.neutron.session.at.settings;
    if (text !== undefined) {
      const own = await this.named(text);
      return { name: own.network.name, subnet: own.subnet.name, cidr: own.subnet.cidr };
    }
    const network = (await this.own(name)) ?? (await this.make(name));
    const own = (await subnetOf(this.neutron, network)) ?? (await this.makeSubnet(network, subnet, cidr));
    await this.ensureRouter(name, own);
    return { name, subnet: own.name, cidr: own.cidr };
  }

  /** The network with a name that `ensure` returned. */
  async named(name: string): Promise<OwnNetwork> {
    const { network: text } = this.neutron.session.at.settings;
    const network = text === undefined ? await this.own(name) : await given(this.neutron, text);
    if (network === undefined) throw this.neutron.failure(`network ${name} is gone`);
    const subnet = await subnetOf(this.neutron, network);
    if (subnet === undefined) throw this.neutron.refusal(`network ${network.name} has no IPv4 subnet`);
    return { network, subnet };
  }

  /** The network of the connection, whatever its name. */
  async shared(): Promise<OwnNetwork> {
    const { network: text } = this.neutron.session.at.settings;
    const path = `/networks?description=${encodeURIComponent(this.mark)}`;
    const [made] = text === undefined ? await this.neutron.list(path, 'networks', answers.Network) : [];
    return this.named(text ?? made?.name ?? '');
  }

  private async own(name: string): Promise<answers.Network | undefined> {
    const found = await this.neutron.list(named('networks', name), 'networks', answers.Network);
    return found.find(({ description }) => description === this.mark);
  }

  private async make(name: string): Promise<answers.Network> {
    const body = { network: { name, description: this.mark } };
    return (await this.neutron.post('/networks', body, answers.OneNetwork)).network;
  }

  private async makeSubnet({ id }: answers.Network, name: string, cidr: string): Promise<answers.Subnet> {
    const { dnsServers } = this.neutron.session.at.settings;
    const servers = dnsServers === undefined ? {} : { dns_nameservers: dnsServers };
    const body = { subnet: { name, description: this.mark, network_id: id, ip_version: 4, cidr, ...servers } };
    return (await this.neutron.post('/subnets', body, answers.OneSubnet)).subnet;
  }

  /**
   * Ensures the route out of the network, and into it through floating IPs. A crash may have left a router without its
   * interface.
   */
  private async ensureRouter(name: string, subnet: answers.Subnet): Promise<void> {
    const external = await externalNetwork(this.neutron);
    if (external === undefined) return;
    const all = await this.neutron.list(named('routers', name), 'routers', answers.Router);
    const router = all.find(({ description }) => description === this.mark) ?? (await this.makeRouter(name, external));
    const ports = await this.neutron.list(`/ports?device_id=${router.id}`, 'ports', answers.Port);
    const isInside = ports.some(({ fixed_ips: ips }) => ips.some(({ subnet_id: id }) => id === subnet.id));
    if (isInside) return;
    await this.neutron.put(`/routers/${router.id}/add_router_interface`, { subnet_id: subnet.id }, answers.Anything);
  }

  private async makeRouter(name: string, { id }: answers.Network): Promise<answers.Router> {
    const body = { router: { name, description: this.mark, external_gateway_info: { network_id: id } } };
    return (await this.neutron.post('/routers', body, answers.OneRouter)).router;
  }
}
