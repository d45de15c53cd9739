import * as z from 'zod';

/** What is read from the answers of AWS. Members that are not named are dropped. */
const TEXT_MAX = 4_096;
const PARTS_MAX = 10_000;
const text = z.string().max(TEXT_MAX);
const id = z.string().min(1).max(TEXT_MAX);
/** A part of something, which is left out where it is empty. */
const parts = <Item extends z.ZodType>(item: Item) => z.array(item).max(PARTS_MAX).default([]);
const tags = parts(z.object({ Key: text.optional(), Value: text.optional() }));

export const Anything = z.unknown();

export const Region = z.object({ RegionName: id });

export const Zone = z.object({ ZoneName: id, State: text, ZoneType: text.optional() });

export const InstanceType = z.object({
  InstanceType: id,
  VCpuInfo: z.object({ DefaultVCpus: z.int().min(1) }),
  MemoryInfo: z.object({ SizeInMiB: z.number().positive() }),
  ProcessorInfo: z
    .object({ SupportedArchitectures: parts(text), SustainedClockSpeedInGhz: z.number().optional() })
    .optional(),
});
export type InstanceType = z.infer<typeof InstanceType>;

export const Image = z.object({
  ImageId: id,
  Name: text.default(''),
  CreationDate: text.default(''),
  RootDeviceName: text.default(''),
  Architecture: text.default(''),
  State: text.default(''),
  BlockDeviceMappings: parts(
    z.object({ DeviceName: text.optional(), Ebs: z.object({ VolumeSize: z.int().optional() }).optional() }),
  ),
});
export type Image = z.infer<typeof Image>;

export const Vpc = z.object({ VpcId: id, CidrBlock: id, Tags: tags });
export type Vpc = z.infer<typeof Vpc>;
export const NewVpc = z.object({ Vpc });

export const Subnet = z.object({
  SubnetId: id,
  VpcId: id,
  CidrBlock: id,
  AvailabilityZone: id,
  AvailableIpAddressCount: z.int().default(0),
});
export type Subnet = z.infer<typeof Subnet>;

export const InternetGateway = z.object({
  InternetGatewayId: id,
  Attachments: parts(z.object({ VpcId: text.optional() })),
  Tags: tags,
});
export const NewInternetGateway = z.object({ InternetGateway });

export const RouteTable = z.object({
  RouteTableId: id,
  Routes: parts(z.object({ DestinationCidrBlock: text.optional() })),
});

const Permission = z.object({
  IpProtocol: id,
  FromPort: z.int().optional(),
  ToPort: z.int().optional(),
  IpRanges: parts(z.object({ CidrIp: id })),
  Ipv6Ranges: parts(z.object({ CidrIpv6: id })),
  UserIdGroupPairs: parts(z.object({ GroupId: id })),
  PrefixListIds: parts(z.object({ PrefixListId: id })),
});
export type Permission = z.infer<typeof Permission>;

export const SecurityGroup = z.object({
  GroupId: id,
  GroupName: text,
  IpPermissions: parts(Permission),
  Tags: tags,
});
export type SecurityGroup = z.infer<typeof SecurityGroup>;
export const NewSecurityGroup = z.object({ GroupId: id });

export const KeyPair = z.object({ KeyName: id, PublicKey: text.optional() });

export const Instance = z.object({
  InstanceId: id,
  InstanceType: text.default(''),
  KeyName: text.optional(),
  LaunchTime: z.date().optional(),
  State: z.object({ Name: text }),
  StateReason: z.object({ Code: text.optional(), Message: text.optional() }).optional(),
  PublicIpAddress: text.optional(),
  PrivateIpAddress: text.optional(),
  Placement: z.object({ AvailabilityZone: text.optional() }).optional(),
  Tags: tags,
});
export type Instance = z.infer<typeof Instance>;
export const Reservation = z.object({ Instances: parts(Instance) });
export const NewInstances = z.object({ Instances: z.array(Instance).length(1) });

export const Volume = z.object({ VolumeId: id, Size: z.number().optional(), Tags: tags });
export type Volume = z.infer<typeof Volume>;

export const LoadBalancer = z.object({
  LoadBalancerArn: id,
  LoadBalancerName: id,
  DNSName: id,
  State: z.object({ Code: text.optional(), Reason: text.optional() }).optional(),
});
export type LoadBalancer = z.infer<typeof LoadBalancer>;
export const NewLoadBalancer = z.object({ LoadBalancers: z.array(LoadBalancer).length(1) });

export const TargetGroup = z.object({ TargetGroupArn: id, TargetGroupName: id });
export type TargetGroup = z.infer<typeof TargetGroup>;
export const NewTargetGroup = z.object({ TargetGroups: z.array(TargetGroup).length(1) });

export const Listener = z.object({ Port: z.int().optional() });

export const TargetHealths = z.object({
  TargetHealthDescriptions: z
    .array(z.object({ Target: z.object({ Id: id }), TargetHealth: z.object({ State: text.optional() }).optional() }))
    .max(PARTS_MAX),
});

export const ResourceTags = z.object({ ResourceArn: id, Tags: tags });
