import {
  AwsSettings,
  isRefusal,
  type ClusterUid,
  type ConnectionName,
  type Namespace,
  type NodeName,
} from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import type {
  Connection,
  InfrastructureProvider,
  MachineAnswer,
  MachineGroup,
} from '../../providers/provider.ports.js';
import { awsKind } from './aws.kind.js';
import { AwsCalls, AwsSession, type AwsLimits } from './aws.session.js';

export const ACCESS_KEY_ID = 'AKIAIOSFODNN7EXAMPLE';
export const SECRET_ACCESS_KEY = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
export const REGION = 'eu-central-1';
export const LIMITS: AwsLimits = { callsMax: 16, timeoutMs: 10_000, pollMs: 20, waitFirstMs: 5 };

export type Settings = Readonly<Record<string, unknown>>;

export const awsConnection = (settings: Settings, name = 'aws', region = REGION): Connection => ({
  ...{ name: name as ConnectionName, provider: 'aws', region, zone: '' },
  settings: { accessKeyId: ACCESS_KEY_ID, ...settings },
  ...{ secretRef: null, registration: 'event-1' },
});

export const openAws = (
  settings: Settings,
  { limits = LIMITS, secret = SECRET_ACCESS_KEY, name = 'aws', region = REGION } = {},
): InfrastructureProvider => {
  const provider = awsKind(limits).open(awsConnection(settings, name, region), secret);
  if (isRefusal(provider)) throw new Error(provider.message);
  return provider;
};

/** Calls without the provider, to prepare and to look at the cloud. */
export const awsCalls = (settings: Settings, signal: AbortSignal): AwsCalls => {
  const { name: connection, region, zone, settings: given } = awsConnection(settings);
  const session = new AwsSession(
    { connection, region, zone, settings: AwsSettings.parse(given) },
    SECRET_ACCESS_KEY,
    LIMITS,
  );
  return new AwsCalls(session, { operation: 'list machines', signal });
};

export const awsGroup = (
  count: number,
  of: { readonly role?: string; readonly spec?: string; readonly userData?: string; readonly zone?: string } = {},
): MachineGroup => {
  const uid = randomUUID() as ClusterUid;
  const cluster = `c${uid.slice(0, 6)}`;
  return {
    ...{ name: `spec.${cluster}.aws`, namespace: 'spec' as Namespace, cluster, uid },
    ...{ image: 'debian-12-amd64-*', network: 'aws-vpc', firewall: 'aws-sg', sshKey: 'aws-sshkey' },
    machines: Array.from({ length: count }, (_, at) => ({
      ...{ name: `${cluster}-w-${at + 1}-aaaaa` as NodeName, spec: of.spec ?? 't3.medium', zone: of.zone },
      rootDisk: { type: 'default', size: 'default' },
      labels: { 'fairlead.dev/role': of.role ?? 'worker' },
      ...(of.userData === undefined ? {} : { userData: of.userData }),
    })),
  };
};

export const answersOf = async (
  provider: InfrastructureProvider,
  group: MachineGroup,
  signal: AbortSignal,
): Promise<readonly MachineAnswer[]> => {
  const answers: MachineAnswer[] = [];
  for await (const answer of provider.ensureMachines(group, signal)) answers.push(answer);
  return answers;
};

/** Ensures the shared resources, as infra-svc does before it requests machines. */
export const shareResources = async (
  provider: InfrastructureProvider,
  publicKey: string,
  signal: AbortSignal,
): Promise<void> => {
  await provider.ensureNetwork({ name: 'aws-vpc', subnet: 'aws-subnet', cidr: '192.168.77.0/24' }, signal);
  const rules = [
    { protocol: 'tcp', ports: { from: 1, to: 65_535 }, source: '192.168.77.0/24' },
    { protocol: 'tcp', ports: { from: 22, to: 22 }, source: '0.0.0.0/0' },
    { protocol: 'icmp', ports: null, source: '0.0.0.0/0' },
  ] as const;
  await provider.ensureFirewall({ name: 'aws-sg', rules }, signal);
  await provider.ensureSshKey({ name: 'aws-sshkey', publicKey }, signal);
};
