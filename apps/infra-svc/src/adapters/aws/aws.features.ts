import type { ExternalFailure } from '@fairlead/contracts';
import {
  CreateVolumeCommand,
  DescribeInternetGatewaysCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
  EC2Client,
  RegisterImageCommand,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LoadBalancerSpec, MachineGroup } from '../../providers/provider.ports.js';
import { describeProvider } from '../provider.features.js';
import { opensshKeys } from '../ssh-keys/openssh.keys.js';
import * as answers from './aws.answers.js';
import {
  ACCESS_KEY_ID,
  answersOf,
  awsCalls,
  awsGroup,
  LIMITS,
  openAws,
  REGION,
  SECRET_ACCESS_KEY,
  shareResources,
} from './aws.fixtures.js';
import { tagsIn, tagsOf } from './aws.marks.js';
import { AwsProxy } from './aws.proxy.fixtures.js';
import { Ec2Firewalls } from './ec2.firewalls.js';
import { Ec2Instances } from './ec2.instances.js';
import { NetworkBalancers } from './elb.balancers.js';
import type { RunningMoto } from './moto.fixtures.js';

const { publicKey } = opensshKeys.generate('spec');

const clientOf = (endpoint: string): EC2Client =>
  new EC2Client({
    ...{ endpoint, region: REGION },
    credentials: { accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY },
  });

const registerImages = async (endpoint: string): Promise<void> => {
  const client = clientOf(endpoint);
  for (const Name of ['debian-12', 'debian-13', 'debian-12-amd64-20261001-1', 'debian-12-amd64-20261101-2'])
    await client.send(
      new RegisterImageCommand({
        Name,
        Architecture: 'x86_64',
        RootDeviceName: '/dev/xvda',
        VirtualizationType: 'hvm',
      }),
    );
  client.destroy();
};

interface Cloud {
  readonly moto: RunningMoto;
  readonly proxy: AwsProxy;
}

const startCloud = async (start: () => Promise<RunningMoto>): Promise<Cloud> => {
  const moto = await start();
  await registerImages(moto.url);
  const proxy = new AwsProxy(moto.url);
  await proxy.start();
  return { moto, proxy };
};

const stopCloud = async ({ moto, proxy }: Cloud): Promise<void> => {
  await proxy.stop();
  await moto.stop();
};

/** The specification of the provider `aws` against services that a simulation of AWS imitates. */
export const describeAws = (start: () => Promise<RunningMoto>): void => {
  describeProvider('aws, of which moto simulates the services', async () => {
    const cloud = await startCloud(start);
    const settings = { endpoint: cloud.proxy.url, image: 'debian-12', imageOwner: 'self', instanceTypes: ['t3.*'] };
    return {
      open: () => openAws(settings),
      ...{ connection: 'aws', region: REGION, spec: 't3.medium', otherImage: 'debian-13', publicKey, adopts: true },
      stop: () => stopCloud(cloud),
    };
  });

  describe('AWS, simulated by moto', () => {
    let cloud: Cloud;
    const signal = (): AbortSignal => AbortSignal.timeout(30_000);
    const given = (settings: Readonly<Record<string, unknown>> = {}) => ({
      ...{ endpoint: cloud.proxy.url, imageOwner: 'self', instanceTypes: ['t3.*'] },
      ...settings,
    });
    const open = (settings = {}, limits = LIMITS) => openAws(given(settings), { limits });
    const calls = () => awsCalls(given(), signal());
    const formsOf = (action: string) => cloud.proxy.forms.filter((form) => form.get('Action') === action);

    /** Everything at the cloud that belongs to the connection, by ID. */
    const resources = async (): Promise<readonly string[]> => {
      const aws = calls();
      const instances = await new Ec2Instances(aws).living();
      const groups = await new Ec2Firewalls(aws).all();
      const balancers = new NetworkBalancers(aws);
      const volumes = await aws.ec2List('DescribeVolumes', {}, 'Volumes', answers.Volume);
      return [
        ...instances.map(({ InstanceId }) => InstanceId),
        ...groups.map(({ GroupId }) => GroupId),
        ...[...(await balancers.all()), ...(await balancers.targetGroups())].map(({ arn }) => arn),
        ...volumes.map(({ VolumeId }) => VolumeId),
      ].sort();
    };

    const balancerOf = (group: MachineGroup, targets: readonly string[]): LoadBalancerSpec => ({
      ...{ name: `${group.namespace}.${group.cluster}`, group, kind: 'nlb', targetPort: 6443, healthPath: '/readyz' },
      targets,
    });

    beforeAll(async () => {
      cloud = await startCloud(start);
      await shareResources(open(), publicKey, signal());
    });
    afterEach(() => {
      cloud.proxy.faults = [];
    });
    afterAll(() => stopCloud(cloud));

    it('has a VPC with one subnet in each of three zones, and one way out, however often they are ensured', async () => {
      await shareResources(open(), publicKey, signal());
      const client = clientOf(cloud.moto.url);
      const Filters = [{ Name: 'tag:fairlead.dev/connection', Values: ['aws'] }];
      const { Vpcs: vpcs = [] } = await client.send(new DescribeVpcsCommand({ Filters }));
      const { Subnets: subnets = [] } = await client.send(new DescribeSubnetsCommand({ Filters }));
      const { InternetGateways: ways = [] } = await client.send(new DescribeInternetGatewaysCommand({ Filters }));
      client.destroy();
      expect([vpcs.length, ways.length]).toEqual([1, 1]);
      expect(ways[0]?.Attachments?.[0]?.VpcId).toBe(vpcs[0]?.VpcId);
      expect(subnets.map(({ AvailabilityZone, CidrBlock }) => [AvailabilityZone, CidrBlock]).sort()).toEqual([
        [`${REGION}a`, '192.168.77.0/26'],
        [`${REGION}b`, '192.168.77.64/26'],
        [`${REGION}c`, '192.168.77.128/26'],
      ]);
    });

    it('is closed: machines reach each other, and only the allowed sources reach them', async () => {
      const [closed] = await new Ec2Firewalls(calls()).all();
      const sources = (group: answers.SecurityGroup | undefined) =>
        (group?.IpPermissions ?? []).flatMap(({ IpRanges, UserIdGroupPairs }) => [
          ...IpRanges.map(({ CidrIp }) => CidrIp),
          ...UserIdGroupPairs.map(({ GroupId }) => GroupId),
        ]);
      expect(sources(closed).sort()).toEqual(['192.168.77.0/24', closed!.GroupId].sort());
      await shareResources(open({ allowedSources: ['192.0.2.0/24'] }), publicKey, signal());
      const [opened] = await new Ec2Firewalls(calls()).all();
      expect(sources(opened)).toEqual(expect.arrayContaining(['192.0.2.0/24']));
      await shareResources(open(), publicKey, signal());
      const [again] = await new Ec2Firewalls(calls()).all();
      expect(sources(again).sort()).toEqual(sources(closed).sort());
    });

    it('has the same resources after the deletion of a cluster as before it', async () => {
      const before = await resources();
      const group = awsGroup(3, { role: 'control-plane' });
      const ids = (await answersOf(open(), group, signal())).map(({ id }) => id);
      const balancer = balancerOf(group, ids);
      await open().ensureLoadBalancer(balancer, signal());
      expect((await resources()).length).toBeGreaterThan(before.length + 5);
      await open().deleteLoadBalancer(balancer.name, signal());
      await open().deleteGroup(group, signal());
      expect(await resources()).toEqual(before);
    });

    it('has control planes in different zones', async () => {
      const group = awsGroup(3, { role: 'control-plane' });
      const zones = (await answersOf(open(), group, signal())).map((one) => (one.status === 'running' ? one.zone : ''));
      expect([...zones].sort()).toEqual([`${REGION}a`, `${REGION}b`, `${REGION}c`]);
      await open().deleteGroup(group, signal());
    });

    it('balances the API with a health check of /readyz, and lets only its nodes and the allowed sources in [CB-Ladybug 15]', async () => {
      const group = awsGroup(1, { role: 'control-plane' });
      const allowed = open({ allowedSources: ['192.0.2.0/24'] });
      const [machine] = await answersOf(allowed, group, signal());
      if (machine?.status !== 'running') throw new Error('the machine does not run');
      const balancer = balancerOf(group, [machine.id]);
      const { host, port } = await allowed.ensureLoadBalancer(balancer, signal());
      expect([host, port]).toEqual([expect.stringMatching(/\.elb\..*amazonaws\.com$/), 6443]);
      expect(Object.fromEntries(formsOf('CreateTargetGroup').at(-1)!)).toMatchObject({
        ...{ HealthCheckProtocol: 'HTTPS', HealthCheckPath: '/readyz', Protocol: 'TCP', Port: '6443' },
      });
      const firewall = await new Ec2Firewalls(calls()).ofBalancer(balancer.name);
      const sources = firewall!.IpPermissions.flatMap(({ IpRanges }) => IpRanges.map(({ CidrIp }) => CidrIp));
      const nodes = machine.publicIp === '' ? [] : [`${machine.publicIp}/32`];
      expect(sources.sort()).toEqual(['192.0.2.0/24', '192.168.77.0/24', ...nodes].sort());
      await allowed.deleteLoadBalancer(balancer.name, signal());
      await allowed.deleteGroup(group, signal());
    });

    it('gets user data, and a machine with those of a pool connects by itself', async () => {
      const group = awsGroup(1, { userData: '#cloud-config\nruncmd: [date]\n' });
      expect(await answersOf(open(), group, signal())).toMatchObject([{ status: 'running', reach: 'agent' }]);
      const form = formsOf('RunInstances').at(-1)!;
      expect(Buffer.from(form.get('UserData')!, 'base64').toString()).toBe('#cloud-config\nruncmd: [date]\n');
      expect(form.get('MetadataOptions.HttpTokens')).toBe('required');
      await open().deleteGroup(group, signal());
    });

    it('makes spot instances of workers only, and only where the settings say so', async () => {
      const kindOf = async (role: string, settings: object) => {
        const group = awsGroup(1, { role });
        await answersOf(open(settings), group, signal());
        await open().deleteGroup(group, signal());
        return formsOf('RunInstances').at(-1)!.get('InstanceMarketOptions.MarketType');
      };
      expect(await kindOf('worker', { spot: 'workers' })).toBe('spot');
      expect(await kindOf('control-plane', { spot: 'workers' })).toBeNull();
      expect(await kindOf('worker', {})).toBeNull();
    });

    it('uses the newest image of a name', async () => {
      expect(await open().resolveImage(signal())).toEqual({
        ...{ name: 'debian-12-amd64-*', os: expect.stringMatching(/^debian-12-amd64-/) },
      });
      await expect(open({ image: 'no-such-image' }).resolveImage(signal())).rejects.toMatchObject({
        ...{ message: `there is no image no-such-image of self in ${REGION}`, retryable: false },
      });
    });

    const THROTTLED = { status: 503, code: 'RequestLimitExceeded', message: 'Request limit exceeded.' };

    it('is asked again after it has throttled a call, also for a creation', async () => {
      const group = awsGroup(1);
      cloud.proxy.faults = [{ action: 'RunInstances', times: 2, ...THROTTLED }];
      expect(await answersOf(open(), group, signal())).toMatchObject([{ status: 'running' }]);
      expect(cloud.proxy.faults).toMatchObject([{ times: 0 }]);
      await open().deleteGroup(group, signal());
    });

    it('is reported with its words if it keeps throttling', async () => {
      cloud.proxy.faults = [{ action: 'DescribeInstanceTypes', times: 99, ...THROTTLED }];
      await expect(open().listSpecs(signal())).rejects.toMatchObject({
        ...{ operation: 'list specs', target: 'aws', retryable: true },
        message: 'Request limit exceeded. (EC2, DescribeInstanceTypes, HTTP 503, RequestLimitExceeded)',
      });
      expect(cloud.proxy.faults).toMatchObject([{ times: 95 }]);
    });

    it('is asked a question again after a server error, but not told anything twice', async () => {
      const failing = { times: 1, status: 500, code: 'InternalError', message: 'An internal error has occurred' };
      cloud.proxy.faults = [{ action: 'DescribeInstanceTypes', ...failing }];
      expect(await open().listSpecs(signal())).not.toEqual([]);
      const group = awsGroup(1);
      cloud.proxy.faults = [{ action: 'RunInstances', ...failing }];
      await expect(answersOf(open(), group, signal())).rejects.toMatchObject({
        ...{ message: 'An internal error has occurred (EC2, RunInstances, HTTP 500, InternalError)', retryable: true },
      });
      await open().deleteGroup(group, signal());
    });

    it('that hangs lets the call time out, and is named', async () => {
      cloud.proxy.faults = [{ action: 'DescribeInstanceTypes', times: 1 }];
      await expect(open({}, { ...LIMITS, timeoutMs: 200 }).listSpecs(signal())).rejects.toMatchObject({
        ...{ message: `${cloud.proxy.url}: no answer within 200 ms`, retryable: true },
      });
    });

    it.each([
      ['the page of a proxy', 200, '<html><title>Please log in</title></html>', 'Please log in'],
      ['the page of a proxy with an error', 502, '<html><title>502 Bad Gateway</title></html>', '502 Bad Gateway'],
      [
        ...(['half an answer', 200, '<DescribeInstancesResponse><reservationSet>'] as const),
        'no answer to DescribeInstances',
      ],
      [
        ...(['an answer without a list', 200, '<DescribeInstancesResponse></DescribeInstancesResponse>'] as const),
        'something else than expected',
      ],
    ])('that answers with %s has not said that its machines are gone', async (_what, status, body, words) => {
      cloud.proxy.faults = [{ action: 'DescribeInstances', times: 9, status, body }];
      await expect(open().listMachines(signal())).rejects.toMatchObject({ message: expect.stringContaining(words) });
    });

    it('has one instance of a creation whose answer was lost', async () => {
      const before = await resources();
      const group = awsGroup(1);
      cloud.proxy.faults = [{ action: 'RunInstances', times: 1, isDone: true }];
      const impatient = open({}, { ...LIMITS, timeoutMs: 3_000 });
      await expect(answersOf(impatient, group, signal())).rejects.toMatchObject({ retryable: true });
      expect(await answersOf(open(), group, signal())).toHaveLength(1);
      expect(await open().describeMachines(group, signal())).toHaveLength(1);
      await open().deleteGroup(group, signal());
      expect(await resources()).toEqual(before);
    });

    it('deletes the younger of two instances that were created for one machine', async () => {
      const group = awsGroup(1);
      const [machine] = await answersOf(open(), group, signal());
      const original = (await new Ec2Instances(calls()).ofGroup(group))[0]!;
      const client = clientOf(cloud.moto.url);
      const [image] = await calls().ec2List('DescribeImages', { Owners: ['self'] }, 'Images', answers.Image);
      const Tags = tagsOf(tagsIn(original.Tags));
      const twin = { ImageId: image!.ImageId, MinCount: 1, MaxCount: 1, InstanceType: 't3.medium' as const };
      await new Promise((resolve) => setTimeout(resolve, 1_100)); // Times of launch are in seconds.
      await client.send(new RunInstancesCommand({ ...twin, TagSpecifications: [{ ResourceType: 'instance', Tags }] }));
      client.destroy();
      expect(await answersOf(open(), group, signal())).toMatchObject([{ id: machine?.id }]);
      expect((await open().describeMachines(group, signal())).map(({ id }) => id)).toEqual([machine?.id]);
      await open().deleteGroup(group, signal());
    });

    const NO_ROOM = {
      ...{ status: 500, code: 'InsufficientInstanceCapacity' },
      message: 'We currently do not have sufficient t3.medium capacity in the Availability Zone you requested.',
    };

    it('makes a machine in another zone where the first has no capacity', async () => {
      const group = awsGroup(1);
      cloud.proxy.faults = [{ action: 'RunInstances', times: 2, ...NO_ROOM }];
      expect(await answersOf(open(), group, signal())).toMatchObject([{ status: 'running', zone: `${REGION}c` }]);
      await open().deleteGroup(group, signal());
    });

    it('keeps to a declared zone, and says that it has no capacity and what may help', async () => {
      const before = await resources();
      const group = awsGroup(1, { zone: `${REGION}b` });
      cloud.proxy.faults = [{ action: 'RunInstances', times: 2, ...NO_ROOM }];
      await expect(answersOf(open(), group, signal())).rejects.toMatchObject({
        ...{ retryable: true, message: expect.stringMatching(/sufficient t3\.medium capacity.*another instance type/) },
      });
      expect(cloud.proxy.faults).toMatchObject([{ times: 1 }]);
      expect(await resources()).toEqual(before);
    });

    it('names a quota of the account, at once and once, and keeps nothing after the deletion', async () => {
      const before = await resources();
      const group = awsGroup(3);
      const message = 'You have requested more vCPU capacity than your current vCPU limit of 4 allows.';
      const fault = { action: 'RunInstances', status: 400, code: 'VcpuLimitExceeded', message } as const;
      cloud.proxy.faults = [{ ...fault, times: 1 }];
      await expect(answersOf(open(), group, signal())).rejects.toMatchObject({
        ...{ retryable: false, reason: 'provider.refused', message: expect.stringContaining('Service Quotas') },
      });
      await open().deleteGroup(group, signal());
      expect(await resources()).toEqual(before);
    });

    it('makes another instance of a machine that was terminated, with another token, because AWS would answer with the old one', async () => {
      const group = awsGroup(1);
      const provider = open();
      const client = clientOf(cloud.moto.url);
      const first = await answersOf(provider, group, signal());
      await client.send(new TerminateInstancesCommand({ InstanceIds: [first[0]!.id] }));
      client.destroy();
      expect(await open().describeMachines(group, signal())).toEqual([]);
      const [second] = await answersOf(open(), group, signal());
      expect(second).toMatchObject({ status: 'running', name: first[0]!.name });
      expect(second!.id).not.toBe(first[0]!.id);
      const tokens = formsOf('RunInstances')
        .slice(-2)
        .map((form) => form.get('ClientToken'));
      expect(new Set(tokens).size).toBe(2);
      await open().deleteGroup(group, signal());
    });

    it('reports an instance that ends while it is made as failed, with the reason of AWS', async () => {
      const group = awsGroup(1);
      const reason =
        '<stateReason><code>Client.VolumeLimitExceeded</code><message>Volume limit exceeded</message></stateReason>';
      const ended = (text: string): string =>
        text
          .replaceAll(/<code>16<\/code>\s*<name>running<\/name>/g, '<code>48</code><name>terminated</name>')
          .replaceAll(/<stateReason>[\s\S]*?<\/stateReason>/g, '')
          .replaceAll('<instanceState>', `${reason}<instanceState>`);
      cloud.proxy.faults = [{ action: 'DescribeInstances', times: 9, rewrite: ended }];
      expect(await answersOf(open(), group, signal())).toMatchObject([
        { status: 'failed', message: 'the instance was terminated: Volume limit exceeded' },
      ]);
      cloud.proxy.faults = [];
      await open().deleteGroup(group, signal());
    });

    it('lists leftovers of a cluster of every kind, and deletes them', async () => {
      const before = await resources();
      const group = awsGroup(1, { role: 'control-plane' });
      const [machine] = await answersOf(open(), group, signal());
      await open().ensureLoadBalancer(balancerOf(group, [machine!.id]), signal());
      const owned = tagsOf(tagsIn((await new Ec2Instances(calls()).withId(machine!.id))!.Tags));
      const client = clientOf(cloud.moto.url);
      await client.send(
        new CreateVolumeCommand({
          ...{ AvailabilityZone: `${REGION}a`, Size: 8 },
          TagSpecifications: [{ ResourceType: 'volume', Tags: owned }],
        }),
      );
      expect((await open().listMachines(signal())).map(({ id }) => id.split('/')[0])).toEqual([machine!.id, 'volume']);
      await client.send(new TerminateInstancesCommand({ InstanceIds: [machine!.id] }));
      client.destroy();
      const left = await open().listMachines(signal());
      expect(left.map(({ id, group: of }) => [id.split('/')[0], of]).sort()).toEqual([
        ['load-balancer', group.name],
        ['security-group', group.name],
        ['target-group', group.name],
        ['volume', group.name],
      ]);
      for (const { id } of left) await open().deleteMachine(id, signal());
      expect(await open().listMachines(signal())).toEqual([]);
      expect(await resources()).toEqual(before);
    });

    it('deletes what a creation left that was interrupted before its load balancer was complete', async () => {
      const before = await resources();
      const group = awsGroup(1, { role: 'control-plane' });
      const [machine] = await answersOf(open(), group, signal());
      const broken = { times: 1, status: 500, code: 'InternalFailure', message: 'later' };
      cloud.proxy.faults = [{ action: 'CreateLoadBalancer', ...broken, isDone: true }];
      await expect(open().ensureLoadBalancer(balancerOf(group, [machine!.id]), signal())).rejects.toThrow('later');
      await open().deleteGroup(group, signal());
      expect(await resources()).toEqual(before);
    });

    it('refuses credentials in words, without repeating the secret', async () => {
      const fault = { action: 'DescribeAvailabilityZones', times: 9, status: 401, code: 'AuthFailure' } as const;
      const message = `AWS was not able to validate the provided access credentials ${SECRET_ACCESS_KEY}`;
      cloud.proxy.faults = [{ ...fault, message }];
      const failure = await open()
        .verify(signal())
        .catch((error: unknown) => error as ExternalFailure);
      expect(failure).toMatchObject({ operation: 'verify connection', retryable: false });
      expect((failure as ExternalFailure).message).toMatch(
        /validate the provided access credentials.*is the access key active/,
      );
      expect(JSON.stringify(failure)).not.toContain(SECRET_ACCESS_KEY);
    });

    it('names the action that a policy does not permit', async () => {
      const fault = { action: 'DescribeImages', times: 1, status: 403, code: 'UnauthorizedOperation' } as const;
      cloud.proxy.faults = [{ ...fault, message: 'You are not authorized to perform this operation.' }];
      await expect(open().verify(signal())).rejects.toMatchObject({
        ...{ retryable: false, message: expect.stringContaining('DescribeImages, HTTP 403, UnauthorizedOperation') },
      });
    });

    it('uses the subnets that the settings name, and makes no network then', async () => {
      const client = clientOf(cloud.moto.url);
      const { Subnets: all = [] } = await client.send(new DescribeSubnetsCommand({}));
      client.destroy();
      const own = all.find(({ DefaultForAz, AvailabilityZone }) => DefaultForAz && AvailabilityZone === `${REGION}b`)!;
      const vpcs = formsOf('CreateVpc').length;
      const provider = open({ subnets: [own.SubnetId] });
      const network = await provider.ensureNetwork({ name: 'x', subnet: 'y', cidr: '10.0.0.0/24' }, signal());
      expect(network).toMatchObject({ name: own.VpcId, subnet: own.SubnetId });
      expect((await provider.resolveRegion(REGION, signal()))?.zones).toEqual([`${REGION}b`]);
      expect(formsOf('CreateVpc')).toHaveLength(vpcs);
      await expect(
        open({ subnets: ['subnet-0123456789abcdef0'] }).resolveRegion(REGION, signal()),
      ).rejects.toMatchObject({
        ...{ message: `there is no subnet subnet-0123456789abcdef0 in ${REGION}`, retryable: false },
      });
    });

    it('refuses a zone that the region does not have, and names those that it has', async () => {
      await expect(open({ zones: ['mars-1a'] }).verify(signal())).rejects.toMatchObject({
        ...{ message: expect.stringContaining(`mars-1a is no zone of ${REGION}; it has ${REGION}a`), retryable: false },
      });
    });

    it('does not use a foreign security group, whatever its name is', async () => {
      const aws = calls();
      const [own] = await new Ec2Firewalls(aws).all();
      await aws.ec2(
        'DeleteTags',
        { Resources: [own!.GroupId], Tags: [{ Key: 'fairlead.dev/connection' }] },
        answers.Anything,
      );
      const rules = [] as const;
      await expect(open().ensureFirewall({ name: 'aws-sg', rules }, signal())).rejects.toMatchObject({
        ...{
          message: expect.stringContaining('a security group aws-sg that is not of this connection'),
          retryable: false,
        },
      });
      await aws.ec2(
        'CreateTags',
        { Resources: [own!.GroupId], Tags: tagsOf({ 'fairlead.dev/connection': 'aws' }) },
        answers.Anything,
      );
    });

    it('asks for the architecture of the image, in words', async () => {
      const group = awsGroup(1, { spec: 't4g.medium' });
      // moto does not report the architecture of an image.
      const withArchitecture = (text: string) =>
        text.replaceAll('<rootDeviceName>', '<architecture>x86_64</architecture><rootDeviceName>');
      cloud.proxy.faults = [{ action: 'DescribeImages', times: 1, rewrite: withArchitecture }];
      await expect(answersOf(open({ instanceTypes: ['t4g.*'] }), group, signal())).rejects.toMatchObject({
        ...{ message: 't4g.medium runs arm64, and image debian-12-amd64-* is for x86_64', retryable: false },
      });
      await open().deleteGroup(group, signal());
    });

    it('was called only as the policy in the documentation permits', async () => {
      const { permittedActions } = await import('./policy.fixtures.js');
      expect([...cloud.proxy.called].filter((action) => !permittedActions().has(action))).toEqual([]);
    });
  });
};
