import type { Firewall } from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { TAG, sharedTags, tagsIn, tagsOf, type Tags } from './aws.marks.js';
import { AwsFailure, type AwsCalls } from './aws.session.js';
import { isGoneIn, rememberGone } from './gone.planner.js';
import { amongMembers, awsRule, changesOf, currentRules, permissionOf, rulesOf, type Rule } from './rules.planner.js';

const TAKEN = 'InvalidGroup.Duplicate';

/**
 * The security groups of a connection: one of all its machines, whose tags also store deleted incarnations, and one of
 * each load balancer.
 */
export class Ec2Firewalls {
  constructor(private readonly aws: AwsCalls) {}

  async ensure({ name, rules }: Firewall, vpc: string): Promise<Firewall> {
    const { connection, settings } = this.aws.at;
    const own = { name, description: `Machines of ${connection}`, vpc, tags: sharedTags(connection, name) };
    const group = (await this.named(name)) ?? (await this.make(own));
    const permitted = rulesOf(rules, settings.allowedSources);
    await this.permit(group, [...permitted.map(awsRule), amongMembers(group.GroupId)]);
    return { name, rules: permitted };
  }

  /** Every security group with the marks of this connection. */
  all(): Promise<readonly answers.SecurityGroup[]> {
    const Filters = [{ Name: `tag:${TAG.connection}`, Values: [this.aws.at.connection] }];
    return this.aws.ec2List('DescribeSecurityGroups', { Filters }, 'SecurityGroups', answers.SecurityGroup);
  }

  /** The security group of the machines, whatever its name. */
  async shared(): Promise<answers.SecurityGroup> {
    const [group] = await this.ofMachines();
    if (group === undefined) throw this.aws.failure('the security group of the connection is gone');
    return group;
  }

  async ofBalancer(balancer: string): Promise<answers.SecurityGroup | undefined> {
    return (await this.all()).find(({ Tags }) => tagsIn(Tags)[TAG.balancer] === balancer);
  }

  async make(of: {
    readonly name: string;
    readonly description: string;
    readonly vpc: string;
    readonly tags: Tags;
  }): Promise<answers.SecurityGroup> {
    const input = {
      GroupName: of.name,
      Description: of.description,
      VpcId: of.vpc,
      TagSpecifications: [{ ResourceType: 'security-group' as const, Tags: tagsOf(of.tags) }],
    };
    try {
      const { GroupId } = await this.aws.ec2('CreateSecurityGroup', input, answers.NewSecurityGroup);
      return { GroupId, GroupName: of.name, IpPermissions: [], Tags: tagsOf(of.tags) };
    } catch (error) {
      if (!(error instanceof AwsFailure) || error.error.code !== TAKEN) throw error;
      const made = (await this.all()).find(({ GroupName }) => GroupName === of.name);
      if (made !== undefined) return made;
      throw this.aws.refusal(`${of.vpc} has a security group ${of.name} that is not of this connection`);
    }
  }

  /** Permits exactly these rules, because an earlier release may have permitted more. */
  async permit({ GroupId, IpPermissions }: answers.SecurityGroup, desired: readonly Rule[]): Promise<void> {
    const { add, remove } = changesOf(currentRules(IpPermissions), desired);
    const input = (rules: readonly Rule[]) => ({ GroupId, IpPermissions: rules.map(permissionOf) });
    if (add.length > 0) await this.aws.ec2('AuthorizeSecurityGroupIngress', input(add), answers.Anything);
    if (remove.length > 0) await this.aws.ec2('RevokeSecurityGroupIngress', input(remove), answers.Anything);
  }

  /** Whether the incarnation was deleted, even if requests for it are still in progress. */
  async isGone(uid: string): Promise<boolean> {
    return (await this.ofMachines()).some(({ Tags }) => isGoneIn(tagsIn(Tags), uid));
  }

  async rememberGone(uid: string): Promise<void> {
    for (const { GroupId, Tags } of await this.ofMachines()) {
      const plan = rememberGone(tagsIn(Tags), uid, new Date());
      if (plan === undefined)
        throw this.aws.failure('more clusters were deleted within an hour than can be remembered');
      const removed = plan.remove.map((Key) => ({ Key }));
      if (removed.length > 0)
        await this.aws.ec2('DeleteTags', { Resources: [GroupId], Tags: removed }, answers.Anything);
      const added = tagsOf(plan.add);
      if (added.length > 0) await this.aws.ec2('CreateTags', { Resources: [GroupId], Tags: added }, answers.Anything);
    }
  }

  private async named(name: string): Promise<answers.SecurityGroup | undefined> {
    return (await this.ofMachines()).find(({ GroupName }) => GroupName === name);
  }

  private async ofMachines(): Promise<readonly answers.SecurityGroup[]> {
    return (await this.all()).filter(({ Tags }) => tagsIn(Tags)[TAG.group] === undefined);
  }
}
