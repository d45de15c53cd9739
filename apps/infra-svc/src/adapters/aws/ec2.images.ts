import type { Image } from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { foundOr, type AwsCalls } from './aws.session.js';

const AMI = /^ami-[0-9a-f]{8,17}$/;
const AVAILABLE = 'available';

/** Images by ID or by name. A name is looked up among those of one owner only: anyone can publish under any name. */
export class Ec2Images {
  constructor(private readonly aws: AwsCalls) {}

  /** Of several with one name, the newest. */
  async named(text: string): Promise<answers.Image> {
    const { settings, region } = this.aws.at;
    const [found] = AMI.test(text) ? await this.byId(text) : await this.byName(text);
    const whose = AMI.test(text) ? '' : ` of ${settings.imageOwner}`;
    if (found === undefined) throw this.aws.refusal(`there is no image ${text}${whose} in ${region}`);
    if (found.State !== AVAILABLE) throw this.aws.refusal(`image ${text} is ${found.State}, not available`);
    if (found.RootDeviceName === '') throw this.aws.refusal(`image ${text} has no root volume`);
    return found;
  }

  async described(text: string): Promise<Image> {
    const { Name } = await this.named(text);
    return { name: text, os: Name === '' ? text : Name };
  }

  private async byId(id: string): Promise<readonly answers.Image[]> {
    const asked = this.aws.ec2List('DescribeImages', { ImageIds: [id] }, 'Images', answers.Image);
    return (await foundOr(asked)) ?? [];
  }

  private async byName(name: string): Promise<readonly answers.Image[]> {
    const Filters = [
      { Name: 'name', Values: [name] },
      { Name: 'state', Values: [AVAILABLE] },
    ];
    const Owners = [this.aws.at.settings.imageOwner];
    const all = await this.aws.ec2List('DescribeImages', { Owners, Filters }, 'Images', answers.Image);
    return [...all].sort((one, other) => other.CreationDate.localeCompare(one.CreationDate));
  }
}
