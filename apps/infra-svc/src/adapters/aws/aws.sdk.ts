/** Imported only when a connection calls AWS: client-ec2 alone is two megabytes of code. */
import * as ec2 from '@aws-sdk/client-ec2';
import * as elb from '@aws-sdk/client-elastic-load-balancing-v2';

export const Ec2Client = ec2.EC2Client;
export const ElbClient = elb.ElasticLoadBalancingV2Client;

/** Every action of EC2 that is called; the policy in docs/aws.md permits these. */
export const EC2_ACTIONS = {
  AttachInternetGateway: ec2.AttachInternetGatewayCommand,
  AuthorizeSecurityGroupIngress: ec2.AuthorizeSecurityGroupIngressCommand,
  CreateInternetGateway: ec2.CreateInternetGatewayCommand,
  CreateRoute: ec2.CreateRouteCommand,
  CreateSecurityGroup: ec2.CreateSecurityGroupCommand,
  CreateSubnet: ec2.CreateSubnetCommand,
  CreateTags: ec2.CreateTagsCommand,
  CreateVpc: ec2.CreateVpcCommand,
  DeleteKeyPair: ec2.DeleteKeyPairCommand,
  DeleteSecurityGroup: ec2.DeleteSecurityGroupCommand,
  DeleteTags: ec2.DeleteTagsCommand,
  DeleteVolume: ec2.DeleteVolumeCommand,
  DescribeAvailabilityZones: ec2.DescribeAvailabilityZonesCommand,
  DescribeImages: ec2.DescribeImagesCommand,
  DescribeInstances: ec2.DescribeInstancesCommand,
  DescribeInstanceTypes: ec2.DescribeInstanceTypesCommand,
  DescribeInternetGateways: ec2.DescribeInternetGatewaysCommand,
  DescribeKeyPairs: ec2.DescribeKeyPairsCommand,
  DescribeRegions: ec2.DescribeRegionsCommand,
  DescribeRouteTables: ec2.DescribeRouteTablesCommand,
  DescribeSecurityGroups: ec2.DescribeSecurityGroupsCommand,
  DescribeSubnets: ec2.DescribeSubnetsCommand,
  DescribeVolumes: ec2.DescribeVolumesCommand,
  DescribeVpcs: ec2.DescribeVpcsCommand,
  ImportKeyPair: ec2.ImportKeyPairCommand,
  RevokeSecurityGroupIngress: ec2.RevokeSecurityGroupIngressCommand,
  RunInstances: ec2.RunInstancesCommand,
  TerminateInstances: ec2.TerminateInstancesCommand,
} as const;

/** Every action of Elastic Load Balancing that is called. */
export const ELB_ACTIONS = {
  CreateListener: elb.CreateListenerCommand,
  CreateLoadBalancer: elb.CreateLoadBalancerCommand,
  CreateTargetGroup: elb.CreateTargetGroupCommand,
  DeleteLoadBalancer: elb.DeleteLoadBalancerCommand,
  DeleteTargetGroup: elb.DeleteTargetGroupCommand,
  DeregisterTargets: elb.DeregisterTargetsCommand,
  DescribeListeners: elb.DescribeListenersCommand,
  DescribeLoadBalancers: elb.DescribeLoadBalancersCommand,
  DescribeTags: elb.DescribeTagsCommand,
  DescribeTargetGroups: elb.DescribeTargetGroupsCommand,
  DescribeTargetHealth: elb.DescribeTargetHealthCommand,
  ModifyLoadBalancerAttributes: elb.ModifyLoadBalancerAttributesCommand,
  ModifyTargetGroupAttributes: elb.ModifyTargetGroupAttributesCommand,
  RegisterTargets: elb.RegisterTargetsCommand,
} as const;

type Actions<Service> = Service extends 'EC2' ? typeof EC2_ACTIONS : typeof ELB_ACTIONS;
export type Service = 'EC2' | 'ELB';
export type ActionOf<S extends Service> = keyof Actions<S> & string;
export type InputOf<S extends Service, Action extends ActionOf<S>> = Exclude<
  ConstructorParameters<Extract<Actions<S>[Action], new (...given: never[]) => unknown>>[0],
  undefined
>;
