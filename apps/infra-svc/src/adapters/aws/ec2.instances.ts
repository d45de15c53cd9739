import type { DesiredMachine, GroupRef } from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { clientToken, groupTags, isOfConnection, isOfGroup, TAG, tagsIn, tagsOf, type Tags } from './aws.marks.js';
import { AwsFailure, foundOr, type AwsCalls } from './aws.session.js';
import { isOfZone } from './aws.verdicts.js';
import type { OwnNetwork } from './ec2.networks.js';
import { groupNameOf, imageOf, isTerminated, nodeNameOf } from './ec2.reports.js';
import { encodedUserData } from './user.data.js';

/** The common settings of a group's new instances. */
export interface InstanceSurroundings {
  readonly network: OwnNetwork;
  readonly firewall: string;
  readonly keyPair: string;
  /** By their requested names. */
  readonly images: ReadonlyMap<string, answers.Image>;
  /** The image of machines that declare none. */
  readonly imageName: string;
  readonly types: ReadonlyMap<string, answers.InstanceType>;
  /** The zones in which each machine may be, the best first. */
  readonly zones: ReadonlyMap<string, readonly string[]>;
  /** Terminated instances of each machine. */
  readonly before: ReadonlyMap<string, readonly string[]>;
}

const ROLE_LABEL = 'fairlead.dev/role';
const WORKER = 'worker';

export const roleOfMachine = ({ labels }: DesiredMachine): string => labels[ROLE_LABEL] ?? WORKER;

/** Images of distributions have volumes of 8 GiB, which the images of containers fill. */
const ROOT_GIB_MIN = 20;

const rootSizeOf = ({ RootDeviceName, BlockDeviceMappings }: answers.Image): number =>
  BlockDeviceMappings.find(({ DeviceName }) => DeviceName === RootDeviceName)?.Ebs?.VolumeSize ?? 0;

const isDefault = (text: string): boolean => text === '' || text === 'default';

/** The instances of a connection, identified by their tags. */
export class Ec2Instances {
  constructor(private readonly aws: AwsCalls) {}

  /** Every instance, also those that are terminated, which EC2 shows for about an hour. */
  async all(): Promise<readonly answers.Instance[]> {
    const { connection } = this.aws.at;
    const Filters = [{ Name: `tag:${TAG.connection}`, Values: [connection] }];
    const found = await this.aws.ec2List('DescribeInstances', { Filters }, 'Reservations', answers.Reservation);
    return found
      .flatMap(({ Instances }) => Instances)
      .filter(({ Tags }) => isOfConnection(tagsIn(Tags), connection) && tagsIn(Tags)[TAG.group] !== undefined);
  }

  async living(): Promise<readonly answers.Instance[]> {
    return (await this.all()).filter((instance) => !isTerminated(instance));
  }

  async ofGroup(group: Pick<GroupRef, 'name' | 'uid'>): Promise<readonly answers.Instance[]> {
    return (await this.all()).filter(({ Tags }) => isOfGroup(tagsIn(Tags), group));
  }

  /** Resolves once EC2 has accepted the request, not when the instance runs. Tries each zone that may be used. */
  async create(group: GroupRef, machine: DesiredMachine, around: InstanceSurroundings): Promise<answers.Instance> {
    const zones = around.zones.get(machine.name) ?? [];
    let lacking: AwsFailure | undefined;
    for (const zone of zones) {
      try {
        return await this.createIn(zone, group, machine, around);
      } catch (error) {
        if (!(error instanceof AwsFailure) || !isOfZone(error.error)) throw error;
        lacking = error;
      }
    }
    throw lacking ?? this.aws.refusal(`there is no zone for ${machine.name}`);
  }

  /** Changes the tags, which identify the owner and take effect at once. */
  async adopt(group: GroupRef, machine: DesiredMachine, image: string): Promise<void> {
    const { name, adopts } = machine;
    if (adopts === undefined) return;
    const found = (await this.living()).find(({ InstanceId }) => InstanceId === adopts.id);
    if (found !== undefined && isOfGroup(tagsIn(found.Tags), group) && nodeNameOf(found) === name) return;
    if (found === undefined || groupNameOf(found) !== adopts.group)
      throw this.aws.refusal(`there is no instance ${adopts.id} in ${adopts.group}`);
    const tags = this.tagsOfMachine(group, machine, imageOf(found) ?? image);
    await this.aws.ec2('CreateTags', { Resources: [found.InstanceId], Tags: tagsOf(tags) }, answers.Anything);
  }

  /** Resolves once they are terminated, because only then nothing of them costs or blocks anything. */
  async terminate(ids: readonly string[]): Promise<void> {
    const left = new Set<string>();
    for (const id of ids) {
      const asked = this.aws.ec2('TerminateInstances', { InstanceIds: [id] }, answers.Anything);
      if ((await foundOr(asked)) !== undefined) left.add(id);
    }
    while (left.size > 0) {
      for (const instance of await this.described([...left]))
        if (isTerminated(instance)) left.delete(instance.InstanceId);
      if (left.size > 0) await this.aws.poll();
    }
  }

  /** The instance of this ID, as far as it has the marks of this connection. */
  async withId(id: string): Promise<answers.Instance | undefined> {
    return (await this.all()).find(({ InstanceId }) => InstanceId === id);
  }

  /** An instance that EC2 no longer shows is terminated. */
  private async described(ids: readonly string[]): Promise<readonly answers.Instance[]> {
    const Filters = [{ Name: 'instance-id', Values: [...ids] }];
    const found = await this.aws.ec2List('DescribeInstances', { Filters }, 'Reservations', answers.Reservation);
    const shown = found.flatMap(({ Instances }) => Instances);
    const missing = ids.filter((id) => !shown.some(({ InstanceId }) => InstanceId === id));
    return [
      ...shown,
      ...missing.map((InstanceId) => ({ InstanceId, InstanceType: '', State: { Name: 'terminated' }, Tags: [] })),
    ];
  }

  private async createIn(
    zone: string,
    group: GroupRef,
    machine: DesiredMachine,
    around: InstanceSurroundings,
  ): Promise<answers.Instance> {
    const { name, userData, image: imageName = around.imageName } = machine;
    const encoded = encodedUserData(userData);
    if (encoded === undefined) throw this.aws.refusal(`the user data of ${name} are too long for EC2: 16 KiB at most`);
    const { settings } = this.aws.at;
    const { SubnetId } = this.subnetIn(zone, around);
    const spot = settings.spot === 'workers' && roleOfMachine(machine) === WORKER;
    const Tags = tagsOf(this.tagsOfMachine(group, machine, imageName));
    const { Instances } = await this.aws.ec2(
      'RunInstances',
      {
        ...{ MinCount: 1, MaxCount: 1, KeyName: around.keyPair, UserData: encoded },
        ...this.hardwareOf(machine, imageName, around),
        ClientToken: clientToken({
          uid: group.uid,
          name,
          subnet: SubnetId,
          spot,
          before: around.before.get(name) ?? [],
        }),
        NetworkInterfaces: [
          {
            ...{ DeviceIndex: 0, SubnetId, Groups: [around.firewall], DeleteOnTermination: true },
            AssociatePublicIpAddress: settings.publicAddresses,
          },
        ],
        // Pods cannot read the user data, nor get the role of the machine.
        MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
        TagSpecifications: [
          { ResourceType: 'instance', Tags },
          { ResourceType: 'volume', Tags },
        ],
        ...(spot ? { InstanceMarketOptions: { MarketType: 'spot' as const } } : {}),
      },
      answers.NewInstances,
    );
    return Instances[0]!;
  }

  private hardwareOf({ spec, rootDisk }: DesiredMachine, imageName: string, around: InstanceSurroundings) {
    const image = around.images.get(imageName);
    if (image === undefined) throw this.aws.refusal(`image ${imageName} was not looked up`);
    const type = around.types.get(spec);
    if (type === undefined) throw this.aws.refusal(`the connection offers no instance type ${spec}`);
    const { SupportedArchitectures: runs = [] } = type.ProcessorInfo ?? {};
    if (runs.length > 0 && image.Architecture !== '' && !runs.includes(image.Architecture))
      throw this.aws.refusal(`${spec} runs ${runs.join(' and ')}, and image ${imageName} is for ${image.Architecture}`);
    const Ebs = {
      ...{ DeleteOnTermination: true, Encrypted: true },
      VolumeSize: isDefault(rootDisk.size) ? Math.max(rootSizeOf(image), ROOT_GIB_MIN) : Number(rootDisk.size),
      ...{ VolumeType: (isDefault(rootDisk.type) ? 'gp3' : rootDisk.type) as 'gp3' },
    };
    return {
      ImageId: image.ImageId,
      InstanceType: spec as 't3.medium',
      BlockDeviceMappings: [{ DeviceName: image.RootDeviceName, Ebs }],
    };
  }

  /** The first of a zone that has addresses: a repeated request asks for the same one. */
  private subnetIn(zone: string, { network }: InstanceSurroundings): answers.Subnet {
    const inZone = network.subnets.filter(({ AvailabilityZone }) => AvailabilityZone === zone);
    const found = inZone.find(({ AvailableIpAddressCount }) => AvailableIpAddressCount > 0) ?? inZone[0];
    if (found === undefined) throw this.aws.refusal(`the connection has no subnet in zone ${zone}`);
    return found;
  }

  private tagsOfMachine(group: GroupRef, machine: DesiredMachine, image: string): Tags {
    const { name, userData } = machine;
    return {
      ...groupTags(this.aws.at.connection, group, name),
      ...{ [TAG.name]: name, [TAG.image]: image, [TAG.role]: roleOfMachine(machine) },
      ...(userData === undefined ? {} : { [TAG.reach]: 'agent' }),
    };
  }
}
