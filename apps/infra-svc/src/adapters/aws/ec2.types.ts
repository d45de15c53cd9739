import type { MachineSpec } from '@fairlead/contracts';
import * as answers from './aws.answers.js';
import type { AwsCalls } from './aws.session.js';

const MIB_PER_GIB = 1_024;

export const specOf = ({ InstanceType, VCpuInfo, MemoryInfo, ProcessorInfo }: answers.InstanceType): MachineSpec => {
  const clock = ProcessorInfo?.SustainedClockSpeedInGhz ?? 0;
  return {
    name: InstanceType,
    cpuCount: VCpuInfo.DefaultVCpus,
    memoryGiB: MemoryInfo.SizeInMiB / MIB_PER_GIB,
    cpuClockGHz: clock > 0 ? clock : null,
  };
};

/** Whether the settings offer an instance type: by name, or by its family. */
export const isOffered = (name: string, offered: readonly string[]): boolean =>
  offered.some((one) => (one.endsWith('.*') ? name.startsWith(one.slice(0, -1)) : name === one));

/** The instance types of the region that the settings offer. */
export class Ec2Types {
  constructor(private readonly aws: AwsCalls) {}

  async all(): Promise<readonly answers.InstanceType[]> {
    const { instanceTypes } = this.aws.at.settings;
    const found = await this.describe(instanceTypes);
    return found.filter(({ InstanceType }) => isOffered(InstanceType, instanceTypes));
  }

  async named(name: string): Promise<answers.InstanceType | undefined> {
    if (!isOffered(name, this.aws.at.settings.instanceTypes)) return undefined;
    return (await this.describe([name])).find(({ InstanceType }) => InstanceType === name);
  }

  private describe(names: readonly string[]): Promise<readonly answers.InstanceType[]> {
    const Filters = [{ Name: 'instance-type', Values: [...names] }];
    return this.aws.ec2List('DescribeInstanceTypes', { Filters }, 'InstanceTypes', answers.InstanceType);
  }
}
