import type { LoadBalancer, LoadBalancerSpec } from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { BALANCER_PREFIX, balancerName, groupTags, TAG, tagsIn, tagsOf, type Tags } from './aws.marks.js';
import { AwsFailure, foundOr, type AwsCalls } from './aws.session.js';
import type { OwnNetwork } from './ec2.networks.js';

export interface MarkedBalancer {
  readonly name: string;
  readonly arn: string;
  readonly tags: Tags;
}

/** Where the API is reached; its servers listen on the same port. */
export const API_PORT = 6443;
/** DescribeTags takes this many. */
const TAGGED_MAX = 20;
const LEAVING: ReadonlySet<string> = new Set(['draining']);

/** Network Load Balancers of the API servers, each with a target group of the same name. */
export class NetworkBalancers {
  constructor(private readonly aws: AwsCalls) {}

  async ensure(desired: LoadBalancerSpec, network: OwnNetwork, firewall: string): Promise<LoadBalancer> {
    const { connection } = this.aws.at;
    const name = balancerName(connection, desired.name);
    const tags = { ...groupTags(connection, desired.group, desired.name), [TAG.balancer]: desired.name };
    const targets = (await this.targetGroup(name)) ?? (await this.makeTargetGroup(name, desired, network, tags));
    const balancer = (await this.named(name)) ?? (await this.make(name, network, firewall, tags));
    const { Code, Reason } = balancer.State ?? {};
    if (Code === 'failed') throw this.aws.failure(`the load balancer of ${desired.name} has failed: ${Reason ?? Code}`);
    await this.setAttributes(balancer, targets);
    await this.ensureListener(balancer, targets);
    await this.ensureTargets(targets, desired.targets);
    return { name: desired.name, host: balancer.DNSName, port: API_PORT };
  }

  /** Resolves once both are gone, because the security group cannot be deleted before. */
  async delete(name: string): Promise<void> {
    const balancer = await this.named(name);
    if (balancer !== undefined)
      await foundOr(
        this.aws.elb('DeleteLoadBalancer', { LoadBalancerArn: balancer.LoadBalancerArn }, answers.Anything),
      );
    while ((await this.named(name)) !== undefined) await this.aws.poll();
    await this.deleteTargetGroup(name);
  }

  /** Those of the connection, of any cluster. */
  async all(): Promise<readonly MarkedBalancer[]> {
    const found = await this.aws.elbList('DescribeLoadBalancers', {}, 'LoadBalancers', answers.LoadBalancer);
    return this.marked(found.map(({ LoadBalancerName: name, LoadBalancerArn: arn }) => ({ name, arn })));
  }

  async targetGroups(): Promise<readonly MarkedBalancer[]> {
    const found = await this.aws.elbList('DescribeTargetGroups', {}, 'TargetGroups', answers.TargetGroup);
    return this.marked(found.map(({ TargetGroupName: name, TargetGroupArn: arn }) => ({ name, arn })));
  }

  private async marked(
    found: readonly { readonly name: string; readonly arn: string }[],
  ): Promise<readonly MarkedBalancer[]> {
    const possible = found.filter(({ name }) => name.startsWith(BALANCER_PREFIX));
    const all: MarkedBalancer[] = [];
    for (let at = 0; at < possible.length; at += TAGGED_MAX) {
      const some = possible.slice(at, at + TAGGED_MAX);
      const ResourceArns = some.map(({ arn }) => arn);
      const described = await this.aws.elbList(
        'DescribeTags',
        { ResourceArns },
        'TagDescriptions',
        answers.ResourceTags,
      );
      const tagsOfArn = new Map(described.map(({ ResourceArn, Tags }) => [ResourceArn, tagsIn(Tags)]));
      all.push(...some.map((one) => ({ ...one, tags: tagsOfArn.get(one.arn) ?? {} })));
    }
    return all.filter(({ tags }) => tags[TAG.connection] === this.aws.at.connection);
  }

  private async named(name: string): Promise<answers.LoadBalancer | undefined> {
    const asked = this.aws.elbList('DescribeLoadBalancers', { Names: [name] }, 'LoadBalancers', answers.LoadBalancer);
    return (await foundOr(asked))?.[0];
  }

  private async targetGroup(name: string): Promise<answers.TargetGroup | undefined> {
    const asked = this.aws.elbList('DescribeTargetGroups', { Names: [name] }, 'TargetGroups', answers.TargetGroup);
    return (await foundOr(asked))?.[0];
  }

  private async makeTargetGroup(
    name: string,
    { targetPort, healthPath }: LoadBalancerSpec,
    { vpc }: OwnNetwork,
    tags: Tags,
  ): Promise<answers.TargetGroup> {
    const input = {
      ...{ Name: name, Protocol: 'TCP' as const, Port: targetPort, VpcId: vpc.VpcId, TargetType: 'instance' as const },
      ...{ HealthCheckProtocol: 'HTTPS' as const, HealthCheckPath: healthPath, HealthCheckPort: 'traffic-port' },
      Tags: tagsOf(tags),
    };
    return (await this.aws.elb('CreateTargetGroup', input, answers.NewTargetGroup)).TargetGroups[0]!;
  }

  private async make(
    name: string,
    { subnets }: OwnNetwork,
    firewall: string,
    tags: Tags,
  ): Promise<answers.LoadBalancer> {
    const byZone = new Map([...subnets].reverse().map((subnet) => [subnet.AvailabilityZone, subnet.SubnetId]));
    const Scheme = this.aws.at.settings.publicAddresses ? ('internet-facing' as const) : ('internal' as const);
    const input = {
      ...{ Name: name, Type: 'network' as const, Scheme, Subnets: [...byZone.values()].sort() },
      ...{ SecurityGroups: [firewall], Tags: tagsOf(tags) },
    };
    return (await this.aws.elb('CreateLoadBalancer', input, answers.NewLoadBalancer)).LoadBalancers[0]!;
  }

  /**
   * The client's address is not preserved: a control plane that reaches itself through the load balancer would drop the
   * packets.
   */
  private async setAttributes(
    { LoadBalancerArn }: answers.LoadBalancer,
    { TargetGroupArn }: answers.TargetGroup,
  ): Promise<void> {
    await this.aws.elb(
      'ModifyTargetGroupAttributes',
      {
        TargetGroupArn,
        Attributes: [
          { Key: 'preserve_client_ip.enabled', Value: 'false' },
          { Key: 'deregistration_delay.timeout_seconds', Value: '30' },
        ],
      },
      answers.Anything,
    );
    const Attributes = [{ Key: 'load_balancing.cross_zone.enabled', Value: 'true' }];
    await this.aws.elb('ModifyLoadBalancerAttributes', { LoadBalancerArn, Attributes }, answers.Anything);
  }

  private async ensureListener(
    { LoadBalancerArn }: answers.LoadBalancer,
    { TargetGroupArn }: answers.TargetGroup,
  ): Promise<void> {
    const listeners = await this.aws.elbList('DescribeListeners', { LoadBalancerArn }, 'Listeners', answers.Listener);
    if (listeners.some(({ Port }) => Port === API_PORT)) return;
    const DefaultActions = [{ Type: 'forward' as const, TargetGroupArn }];
    const input = { LoadBalancerArn, Protocol: 'TCP' as const, Port: API_PORT, DefaultActions };
    await this.aws.elb('CreateListener', input, answers.Anything);
  }

  private async ensureTargets({ TargetGroupArn }: answers.TargetGroup, desired: readonly string[]): Promise<void> {
    const described = await this.aws.elb('DescribeTargetHealth', { TargetGroupArn }, answers.TargetHealths);
    const there = described.TargetHealthDescriptions.filter(
      ({ TargetHealth }) => !LEAVING.has(TargetHealth?.State ?? ''),
    ).map(({ Target }) => Target.Id);
    const targetsOf = (ids: readonly string[]) => ({ TargetGroupArn, Targets: ids.map((Id) => ({ Id })) });
    const added = desired.filter((id) => !there.includes(id));
    const removed = there.filter((id) => !desired.includes(id));
    if (added.length > 0) await this.aws.elb('RegisterTargets', targetsOf(added), answers.Anything);
    if (removed.length > 0) await this.aws.elb('DeregisterTargets', targetsOf(removed), answers.Anything);
  }

  /** A target group is in use for some seconds after its load balancer is gone. */
  private async deleteTargetGroup(name: string): Promise<void> {
    for (;;) {
      const found = await this.targetGroup(name);
      if (found === undefined) return;
      const { TargetGroupArn } = found;
      try {
        await this.aws.elb('DeleteTargetGroup', { TargetGroupArn }, answers.Anything);
        return;
      } catch (error) {
        if (!(error instanceof AwsFailure) || error.error.code !== 'ResourceInUse') throw error;
        await this.aws.poll();
      }
    }
  }
}
