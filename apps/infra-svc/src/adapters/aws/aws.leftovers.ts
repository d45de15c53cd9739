import type { ClusterUid, NodeName } from '@fairlead/contracts';
import type { GroupRef, ListedMachine } from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { isOfGroup, TAG, tagsIn, type Tags } from './aws.marks.js';
import { AwsFailure, foundOr, type AwsCalls } from './aws.session.js';
import { Ec2Firewalls } from './ec2.firewalls.js';
import { NetworkBalancers } from './elb.balancers.js';

/** The kinds of resources that a cluster has besides instances, in the order in which they are deleted. */
export const LEFTOVER_KINDS = ['load-balancer', 'target-group', 'security-group', 'volume'] as const;
type LeftoverKind = (typeof LEFTOVER_KINDS)[number];

interface Leftover {
  readonly kind: LeftoverKind;
  readonly id: string;
  /** For operators. */
  readonly what: string;
  readonly tags: Tags;
}

const isKind = (kind: string): kind is LeftoverKind => (LEFTOVER_KINDS as readonly string[]).includes(kind);

/** The kind and the own ID in the ID of a leftover; undefined: it is the ID of an instance. */
export const leftoverIn = (id: string): { readonly kind: LeftoverKind; readonly own: string } | undefined => {
  const [kind = '', own = ''] = id.split('/');
  return isKind(kind) ? { kind, own } : undefined;
};

/**
 * Resources of a cluster besides its instances. What remains of one that has no instances is listed as machines are, so
 * that operators see and delete it. The kind is part of the ID.
 */
export class AwsLeftovers {
  constructor(private readonly aws: AwsCalls) {}

  /** Those of clusters without instances, and volumes without an instance. */
  async listed(livingUids: ReadonlySet<string>): Promise<readonly ListedMachine[]> {
    const all = await this.all();
    return all
      .filter(({ kind, tags }) => kind === 'volume' || !livingUids.has(tags[TAG.uid] ?? ''))
      .map(({ kind, id, what, tags }) => ({
        ...{ id: `${kind}/${id}`, name: kind as string as NodeName, uid: (tags[TAG.uid] ?? '') as ClusterUid },
        ...{ status: 'stopped', group: tags[TAG.group] ?? '', spec: what },
      }));
  }

  async deleteOf(group: Pick<GroupRef, 'name' | 'uid'>): Promise<void> {
    for (const { kind, id, tags } of await this.all()) if (isOfGroup(tags, group)) await this.delete(kind, id);
  }

  /** Idempotent. A target group goes with its load balancer. */
  async delete(kind: LeftoverKind, id: string): Promise<void> {
    switch (kind) {
      case 'load-balancer':
      case 'target-group':
        return new NetworkBalancers(this.aws).delete(id);
      case 'security-group':
        return this.deleteSecurityGroup(id);
      case 'volume':
        await foundOr(this.aws.ec2('DeleteVolume', { VolumeId: id }, answers.Anything));
    }
  }

  /** A load balancer holds its security group for some time after it is gone. */
  private async deleteSecurityGroup(GroupId: string): Promise<void> {
    for (;;) {
      try {
        await foundOr(this.aws.ec2('DeleteSecurityGroup', { GroupId }, answers.Anything));
        return;
      } catch (error) {
        if (!(error instanceof AwsFailure) || error.error.code !== 'DependencyViolation') throw error;
        await this.aws.poll();
      }
    }
  }

  private async all(): Promise<readonly Leftover[]> {
    const balancers = new NetworkBalancers(this.aws);
    const named = (kind: LeftoverKind) => (one: { readonly name: string; readonly tags: Tags }) => ({
      ...{ kind, id: one.name, what: `${kind.replace('-', ' ')} of ${one.tags[TAG.balancer] ?? ''}`, tags: one.tags },
    });
    const groups = (await new Ec2Firewalls(this.aws).all()).map((group) => ({ ...group, tags: tagsIn(group.Tags) }));
    return [
      ...(await balancers.all()).map(named('load-balancer')),
      ...(await balancers.targetGroups()).map(named('target-group')),
      ...groups
        .filter(({ tags }) => tags[TAG.group] !== undefined)
        .map(({ GroupId: id, GroupName, tags }): Leftover => {
          return { kind: 'security-group', id, what: `security group ${GroupName}`, tags };
        }),
      ...(await this.volumes()).map(({ VolumeId: id, Size, Tags }): Leftover => {
        return { kind: 'volume', id, what: `volume of ${Size ?? '?'} GiB`, tags: tagsIn(Tags) };
      }),
    ];
  }

  /** Volumes go with their instances; those that no instance has are left. */
  private volumes(): Promise<readonly answers.Volume[]> {
    const Filters = [
      { Name: `tag:${TAG.connection}`, Values: [this.aws.at.connection] },
      { Name: 'status', Values: ['available'] },
    ];
    return this.aws.ec2List('DescribeVolumes', { Filters }, 'Volumes', answers.Volume);
  }
}
