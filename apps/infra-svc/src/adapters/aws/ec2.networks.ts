import type { Network } from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { sharedTags, TAG, tagsIn, tagsOf } from './aws.marks.js';
import type { AwsCalls } from './aws.session.js';
import { missingSubnets, networkFault, type PlacedSubnet } from './subnets.planner.js';

export interface OwnNetwork {
  readonly vpc: answers.Vpc;
  /** One or more in each zone that machines may be in. */
  readonly subnets: readonly answers.Subnet[];
}

const ZONES_BY_DEFAULT = 3;
const ANYWHERE = '0.0.0.0/0';

const byId = (one: answers.Vpc, other: answers.Vpc): number => one.VpcId.localeCompare(other.VpcId);

/** The VPC of all clusters of a connection, with its subnets: those that the settings name, or one that is made. */
export class Ec2Networks {
  constructor(private readonly aws: AwsCalls) {}

  /** An existing network keeps its own range. */
  async ensure({ name, subnet, cidr }: Network): Promise<Network> {
    const given = await this.given();
    if (given !== undefined) {
      const ids = given.subnets.map(({ SubnetId }) => SubnetId).join(', ');
      return { name: given.vpc.VpcId, subnet: ids, cidr: given.vpc.CidrBlock };
    }
    const vpc = (await this.made()) ?? (await this.make(name, cidr));
    await this.ensureSubnets(vpc, subnet);
    await this.ensureWayOut(vpc, name);
    return { name, subnet, cidr: vpc.CidrBlock };
  }

  /** The network of the connection, which `ensure` has made before. */
  async shared(): Promise<OwnNetwork> {
    const given = await this.given();
    if (given !== undefined) return given;
    const vpc = await this.made();
    if (vpc === undefined) throw this.aws.failure(`the VPC of connection ${this.aws.at.connection} is gone`);
    const zones = new Set(await this.zones());
    const subnets = (await this.subnetsOf(vpc)).filter(({ AvailabilityZone: zone }) => zones.has(zone));
    if (subnets.length === 0) throw this.aws.failure(`the subnets of connection ${this.aws.at.connection} are gone`);
    return { vpc, subnets };
  }

  /** The zones in which its machines can be. */
  async zones(): Promise<readonly string[]> {
    const { zone, settings } = this.aws.at;
    if (settings.subnets !== undefined)
      return [...new Set((await this.given())?.subnets.map(({ AvailabilityZone }) => AvailabilityZone))].sort();
    const available = await this.aws.ec2List('DescribeAvailabilityZones', {}, 'AvailabilityZones', answers.Zone);
    const usable = available
      .filter(({ State, ZoneType = 'availability-zone' }) => State === 'available' && ZoneType === 'availability-zone')
      .map(({ ZoneName }) => ZoneName)
      .sort();
    const desired = zone === '' ? settings.zones : [zone];
    const unknown = desired?.find((one) => !usable.includes(one));
    if (unknown !== undefined)
      throw this.aws.refusal(`${unknown} is no zone of ${this.aws.at.region}; it has ${usable.join(', ')}`);
    return desired ?? usable.slice(0, ZONES_BY_DEFAULT);
  }

  /** The subnets that the settings name; undefined: they name none. */
  async given(): Promise<OwnNetwork | undefined> {
    const { subnets: ids } = this.aws.at.settings;
    if (ids === undefined) return undefined;
    const all = await this.aws.ec2List(
      'DescribeSubnets',
      { Filters: [{ Name: 'subnet-id', Values: [...ids] }] },
      'Subnets',
      answers.Subnet,
    );
    const missing = ids.find((id) => !all.some(({ SubnetId }) => SubnetId === id));
    if (missing !== undefined) throw this.aws.refusal(`there is no subnet ${missing} in ${this.aws.at.region}`);
    const [vpcId = '', other] = new Set(all.map(({ VpcId }) => VpcId));
    if (other !== undefined) throw this.aws.refusal(`the subnets are in several VPCs, ${vpcId} and ${other}`);
    const [vpc] = await this.vpcs([{ Name: 'vpc-id', Values: [vpcId] }]);
    if (vpc === undefined) throw this.aws.failure(`VPC ${vpcId} is gone`);
    const subnets = ids.map((id) => all.find(({ SubnetId }) => SubnetId === id)!);
    const { zone } = this.aws.at;
    const inZone = zone === '' ? subnets : subnets.filter(({ AvailabilityZone }) => AvailabilityZone === zone);
    if (inZone.length === 0) throw this.aws.refusal(`none of the subnets is in zone ${zone}`);
    return { vpc, subnets: inZone };
  }

  private vpcs(Filters: { Name: string; Values: string[] }[]): Promise<readonly answers.Vpc[]> {
    return this.aws.ec2List('DescribeVpcs', { Filters }, 'Vpcs', answers.Vpc);
  }

  /** A crash between a creation and its answer can leave two: the first by ID is used. */
  private async made(): Promise<answers.Vpc | undefined> {
    const { connection } = this.aws.at;
    const found = await this.vpcs([{ Name: `tag:${TAG.connection}`, Values: [connection] }]);
    return [...found].sort(byId).find(({ Tags }) => tagsIn(Tags)[TAG.connection] === connection);
  }

  private async make(name: string, cidr: string): Promise<answers.Vpc> {
    const fault = networkFault(cidr);
    if (fault !== undefined) throw this.aws.refusal(fault);
    const Tags = tagsOf(sharedTags(this.aws.at.connection, name));
    const input = { CidrBlock: cidr, TagSpecifications: [{ ResourceType: 'vpc' as const, Tags }] };
    return (await this.aws.ec2('CreateVpc', input, answers.NewVpc)).Vpc;
  }

  private subnetsOf({ VpcId }: answers.Vpc): Promise<readonly answers.Subnet[]> {
    const Filters = [{ Name: 'vpc-id', Values: [VpcId] }];
    return this.aws.ec2List('DescribeSubnets', { Filters }, 'Subnets', answers.Subnet);
  }

  private async ensureSubnets(vpc: answers.Vpc, name: string): Promise<void> {
    const existing = (await this.subnetsOf(vpc)).map(({ AvailabilityZone: zone, CidrBlock: cidr }): PlacedSubnet => ({
      zone,
      cidr,
    }));
    const missing = missingSubnets(vpc.CidrBlock, await this.zones(), existing);
    if (missing === undefined) throw this.aws.refusal(`VPC ${vpc.VpcId} has no room for a subnet in every zone`);
    for (const { zone, cidr } of missing) {
      const Tags = tagsOf(sharedTags(this.aws.at.connection, `${name}-${zone}`));
      const input = { VpcId: vpc.VpcId, CidrBlock: cidr, AvailabilityZone: zone };
      await this.aws.ec2(
        'CreateSubnet',
        { ...input, TagSpecifications: [{ ResourceType: 'subnet', Tags }] },
        answers.Anything,
      );
    }
  }

  /** The route out of the VPC, and into it at public addresses. A crash may have left a gateway without its VPC. */
  private async ensureWayOut({ VpcId }: answers.Vpc, name: string): Promise<void> {
    const gateways = await this.aws.ec2List(
      'DescribeInternetGateways',
      { Filters: [{ Name: `tag:${TAG.connection}`, Values: [this.aws.at.connection] }] },
      'InternetGateways',
      answers.InternetGateway,
    );
    const attached = gateways.find(({ Attachments }) => Attachments.some((one) => one.VpcId === VpcId));
    const gateway =
      attached ?? gateways.find(({ Attachments }) => Attachments.length === 0) ?? (await this.gateway(name));
    const InternetGatewayId = gateway.InternetGatewayId;
    if (attached === undefined)
      await this.aws.ec2('AttachInternetGateway', { InternetGatewayId, VpcId }, answers.Anything);
    const Filters = [
      { Name: 'vpc-id', Values: [VpcId] },
      { Name: 'association.main', Values: ['true'] },
    ];
    const [main] = await this.aws.ec2List('DescribeRouteTables', { Filters }, 'RouteTables', answers.RouteTable);
    if (main === undefined) throw this.aws.failure(`VPC ${VpcId} has no main route table`);
    if (main.Routes.some(({ DestinationCidrBlock }) => DestinationCidrBlock === ANYWHERE)) return;
    const route = { RouteTableId: main.RouteTableId, DestinationCidrBlock: ANYWHERE, GatewayId: InternetGatewayId };
    await this.aws.ec2('CreateRoute', route, answers.Anything);
  }

  private async gateway(name: string): Promise<{ readonly InternetGatewayId: string }> {
    const Tags = tagsOf(sharedTags(this.aws.at.connection, name));
    const input = { TagSpecifications: [{ ResourceType: 'internet-gateway' as const, Tags }] };
    return (await this.aws.ec2('CreateInternetGateway', input, answers.NewInternetGateway)).InternetGateway;
  }
}
