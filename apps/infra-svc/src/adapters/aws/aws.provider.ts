import type { ClusterUid, MachineSpec, NodeName } from '@fairlead/contracts';
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
  ProviderOperation,
  Region,
  SshKey,
} from '../../providers/provider.ports.js';
import * as answers from './aws.answers.js';
import { AwsLeftovers, leftoverIn } from './aws.leftovers.js';
import { balancerName, groupTags, isOfGroup, sharedTags, TAG, tagsIn, tagsOf } from './aws.marks.js';
import { AwsCalls, foundOr, type AwsSession } from './aws.session.js';
import { Ec2Firewalls } from './ec2.firewalls.js';
import { Ec2Images } from './ec2.images.js';
import { Ec2Instances, roleOfMachine, type InstanceSurroundings } from './ec2.instances.js';
import { Ec2Networks, type OwnNetwork } from './ec2.networks.js';
import {
  groupNameOf,
  imageOf,
  isTerminated,
  nodeNameOf,
  oldestOfEach,
  reportOf,
  roleOf,
  uidOf,
  zoneOf,
} from './ec2.reports.js';
import { Ec2Types, specOf } from './ec2.types.js';
import { API_PORT, NetworkBalancers } from './elb.balancers.js';
import type { Rule } from './rules.planner.js';
import { spread } from './zones.planner.js';

/** EC2 shows new instances with a delay; one that is not shown by then is gone. */
const SHOWN_WITHIN_MS = 60_000;

/** Machines of an AWS account. Stateless: every resource is tagged with its owner (aws.marks.ts). */
export class AwsProvider implements InfrastructureProvider {
  constructor(private readonly session: AwsSession) {}

  async verify(signal: AbortSignal): Promise<Capabilities> {
    const aws = this.calls('verify connection', signal);
    await new Ec2Networks(aws).zones();
    await new Ec2Images(aws).named(this.session.at.settings.image);
    await new NetworkBalancers(aws).all();
    return { nlb: true, simulated: false };
  }

  async listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    return (await new Ec2Types(this.calls('list specs', signal)).all()).map(specOf);
  }

  async resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    const found = await new Ec2Types(this.calls('resolve spec', signal)).named(name);
    return found === undefined ? undefined : specOf(found);
  }

  async resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined> {
    const aws = this.calls('resolve region', signal);
    const Filters = [{ Name: 'region-name', Values: [region] }];
    const found = await aws.ec2List('DescribeRegions', { Filters }, 'Regions', answers.Region);
    if (!found.some(({ RegionName }) => RegionName === region)) return undefined;
    return { name: region, zones: region === this.session.at.region ? await new Ec2Networks(aws).zones() : [] };
  }

  resolveImage(signal: AbortSignal): Promise<Image> {
    return new Ec2Images(this.calls('resolve image', signal)).described(this.session.at.settings.image);
  }

  ensureNetwork(desired: Network, signal: AbortSignal): Promise<Network> {
    return new Ec2Networks(this.calls('ensure network', signal)).ensure(desired);
  }

  async ensureFirewall(desired: Firewall, signal: AbortSignal): Promise<Firewall> {
    const aws = this.calls('ensure firewall', signal);
    const { vpc } = await new Ec2Networks(aws).shared();
    return new Ec2Firewalls(aws).ensure(desired, vpc.VpcId);
  }

  async ensureSshKey({ name, publicKey }: SshKey, signal: AbortSignal): Promise<SshKey> {
    const aws = this.calls('ensure SSH key', signal);
    const asked = aws.ec2List(
      'DescribeKeyPairs',
      { KeyNames: [name], IncludePublicKey: true },
      'KeyPairs',
      answers.KeyPair,
    );
    const [found] = (await foundOr(asked)) ?? [];
    if (found !== undefined) return { name, publicKey: found.PublicKey?.trim() || publicKey };
    const Tags = tagsOf(sharedTags(this.session.at.connection, name));
    const input = { KeyName: name, PublicKeyMaterial: Buffer.from(publicKey) };
    await aws.ec2(
      'ImportKeyPair',
      { ...input, TagSpecifications: [{ ResourceType: 'key-pair', Tags }] },
      answers.Anything,
    );
    return { name, publicKey };
  }

  async deleteSshKey(name: string, signal: AbortSignal): Promise<void> {
    await foundOr(this.calls('delete SSH key', signal).ec2('DeleteKeyPair', { KeyName: name }, answers.Anything));
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    signal.throwIfAborted();
    const aws = this.calls('create machines', signal);
    const instances = new Ec2Instances(aws);
    await this.refuseGone(group, aws);
    for (const machine of group.machines) await instances.adopt(group, machine, machine.image ?? group.image);
    const created = await this.createMissing(group, aws);
    const createdAt = Date.now();
    const waiting = new Set<string>(group.machines.map(({ name }) => name));
    for (;;) {
      const now = await this.withoutTwins(group, instances, created);
      const isLate = Date.now() - createdAt > SHOWN_WITHIN_MS;
      const done = [...waiting].flatMap((name) => this.answerOf(group, name as NodeName, now.get(name), isLate) ?? []);
      // Nodes reach the API at its public address, from their own.
      if (done.some(({ status }) => status === 'running')) await this.admitNodes(group, aws);
      for (const answer of done) {
        waiting.delete(answer.name);
        yield answer;
      }
      if (waiting.size === 0) return;
      await aws.poll();
    }
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    const living = await new Ec2Instances(this.calls('describe machines', signal)).living();
    return living
      .filter((instance) => groupNameOf(instance) === group.name)
      .map((instance) => reportOf(instance, this.session.at));
  }

  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    const aws = this.calls('list machines', signal);
    const living = await new Ec2Instances(aws).living();
    const machines = living.map((instance) => ({
      ...reportOf(instance, this.session.at),
      group: groupNameOf(instance),
      ...(instance.InstanceType === '' ? {} : { spec: instance.InstanceType }),
      ...(imageOf(instance) === undefined ? {} : { image: imageOf(instance)! }),
    }));
    return [...machines, ...(await new AwsLeftovers(aws).listed(new Set(living.map(uidOf))))];
  }

  /** Resolves once nothing is left: the network interface and the volume go with the instance. */
  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    const aws = this.calls('delete machine', signal);
    const leftover = leftoverIn(id);
    if (leftover !== undefined) return new AwsLeftovers(aws).delete(leftover.kind, leftover.own);
    const instances = new Ec2Instances(aws);
    const found = await instances.withId(id);
    await instances.terminate([id]);
    // Its public address can belong to another customer of AWS from now on.
    if (found !== undefined) await this.admitNodes({ name: groupNameOf(found), uid: uidOf(found) as ClusterUid }, aws);
    return undefined;
  }

  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    const aws = this.calls('delete machines', signal);
    const instances = new Ec2Instances(aws);
    // First, so that no concurrent request can create anything for it.
    await new Ec2Firewalls(aws).rememberGone(group.uid);
    const own = (await instances.ofGroup(group)).filter((instance) => !isTerminated(instance));
    await instances.terminate(own.map(({ InstanceId }) => InstanceId));
    await new AwsLeftovers(aws).deleteOf(group);
  }

  async ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    const aws = this.calls('ensure load balancer', signal);
    const { connection } = this.session.at;
    const network = await new Ec2Networks(aws).shared();
    const firewalls = new Ec2Firewalls(aws);
    const name = `fairlead-${balancerName(connection, desired.name)}`;
    const tags = { ...groupTags(connection, desired.group, name), [TAG.balancer]: desired.name };
    const own = { name, description: `The API of ${desired.name}`, vpc: network.vpc.VpcId, tags };
    const firewall = (await firewalls.ofBalancer(desired.name)) ?? (await firewalls.make(own));
    await this.admitNodes(desired.group, aws);
    return new NetworkBalancers(aws).ensure(desired, network, firewall.GroupId);
  }

  async deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void> {
    const aws = this.calls('delete load balancer', signal);
    const leftovers = new AwsLeftovers(aws);
    await leftovers.delete('load-balancer', balancerName(this.session.at.connection, name));
    const firewall = await new Ec2Firewalls(aws).ofBalancer(name);
    if (firewall !== undefined) await leftovers.delete('security-group', firewall.GroupId);
  }

  private calls(operation: ProviderOperation, signal: AbortSignal): AwsCalls {
    return new AwsCalls(this.session, { operation, signal });
  }

  private async refuseGone({ name, uid }: GroupRef, aws: AwsCalls): Promise<void> {
    if (await new Ec2Firewalls(aws).isGone(uid)) throw aws.refusal(`group ${name} was deleted`);
  }

  /** Returns the new instances. */
  private async createMissing(group: MachineGroup, aws: AwsCalls): Promise<readonly answers.Instance[]> {
    const instances = new Ec2Instances(aws);
    const all = await instances.ofGroup(group);
    const living = all.filter((instance) => !isTerminated(instance));
    const there = new Set(living.map(nodeNameOf));
    const missing = group.machines.filter(({ name }) => !there.has(name));
    if (missing.length === 0) return [];
    const around = await this.surroundings({ ...group, machines: missing }, all, aws);
    const made = await Promise.allSettled(missing.map((machine) => instances.create(group, machine, around)));
    // The incarnation may have been deleted in the meantime: then the created resources are deleted too.
    if (await new Ec2Firewalls(aws).isGone(group.uid)) {
      const own = made.flatMap((result) => (result.status === 'fulfilled' ? [result.value.InstanceId] : []));
      await instances.terminate(own);
      await this.refuseGone(group, aws);
    }
    const failed = made.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return made.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  private async surroundings(
    group: MachineGroup,
    known: readonly answers.Instance[],
    aws: AwsCalls,
  ): Promise<InstanceSurroundings> {
    const { machines, image } = group;
    const network = await new Ec2Networks(aws).shared();
    const firewall = await new Ec2Firewalls(aws).shared();
    const images = new Map<string, answers.Image>();
    for (const name of new Set(machines.map((machine) => machine.image ?? image)))
      images.set(name, await new Ec2Images(aws).named(name));
    const types = new Map<string, answers.InstanceType>();
    for (const spec of new Set(machines.map((machine) => machine.spec))) {
      const type = await new Ec2Types(aws).named(spec);
      if (type !== undefined) types.set(spec, type);
    }
    const before = new Map<string, readonly string[]>();
    for (const instance of known.filter(isTerminated))
      before.set(nodeNameOf(instance), [...(before.get(nodeNameOf(instance)) ?? []), instance.InstanceId]);
    const placed = machines.map((machine) => ({ ...machine, role: roleOfMachine(machine) }));
    const living = known.filter((instance) => !isTerminated(instance));
    const existing = living.map((one) => ({ name: nodeNameOf(one), role: roleOf(one), zone: zoneOf(one) }));
    const zones = [...new Set(network.subnets.map(({ AvailabilityZone }) => AvailabilityZone))];
    return {
      ...{ network, firewall: firewall.GroupId, keyPair: group.sshKey, images, imageName: image, types, before },
      zones: spread(placed, existing, zones),
    };
  }

  /**
   * The instances of a group by machine name, after deleting younger duplicates. One that was created just now counts
   * even if it is not shown yet, or has ended already.
   */
  private async withoutTwins(
    group: GroupRef,
    instances: Ec2Instances,
    created: readonly answers.Instance[],
  ): Promise<ReadonlyMap<string, answers.Instance>> {
    const all = await instances.ofGroup(group);
    const living = all.filter((instance) => !isTerminated(instance));
    const oldest = oldestOfEach(living);
    const kept = new Set(oldest.values());
    const twins = living.filter((instance) => !kept.has(instance));
    if (twins.length > 0) await instances.terminate(twins.map(({ InstanceId }) => InstanceId));
    const now = new Map([...kept].map((instance) => [nodeNameOf(instance), instance]));
    for (const own of created) {
      const shown = all.find(({ InstanceId }) => InstanceId === own.InstanceId);
      if (!now.has(nodeNameOf(own)) && shown !== undefined) now.set(nodeNameOf(own), shown);
    }
    return now;
  }

  private answerOf(
    { uid }: GroupRef,
    name: NodeName,
    instance: answers.Instance | undefined,
    isLate: boolean,
  ): MachineAnswer | undefined {
    const gone = 'the instance was deleted at AWS while it was made';
    if (instance === undefined) return isLate ? { id: '', name, uid, status: 'failed', message: gone } : undefined;
    const report = reportOf(instance, this.session.at);
    return report.status === 'running' || report.status === 'failed' ? report : undefined;
  }

  /** Lets only the nodes of a cluster and the allowed sources connect to the load balancer of its API. */
  private async admitNodes(group: Pick<GroupRef, 'name' | 'uid'>, aws: AwsCalls): Promise<void> {
    const firewalls = new Ec2Firewalls(aws);
    const own = (await firewalls.all()).filter(
      ({ Tags }) => tagsIn(Tags)[TAG.balancer] !== undefined && isOfGroup(tagsIn(Tags), group),
    );
    if (own.length === 0) return;
    const { vpc } = await new Ec2Networks(aws).shared();
    const nodes = (await new Ec2Instances(aws).living()).filter(({ Tags }) => isOfGroup(tagsIn(Tags), group));
    for (const firewall of own) await firewalls.permit(firewall, this.apiRules(vpc, nodes));
  }

  private apiRules({ CidrBlock }: OwnNetwork['vpc'], nodes: readonly answers.Instance[]): readonly Rule[] {
    const addresses = nodes.flatMap(({ PublicIpAddress: ip }) => (ip === undefined || ip === '' ? [] : [`${ip}/32`]));
    const sources = new Set([CidrBlock, ...this.session.at.settings.allowedSources, ...addresses]);
    return [...sources].map((source) => ({ protocol: 'tcp', from: API_PORT, to: API_PORT, source }));
  }
}
