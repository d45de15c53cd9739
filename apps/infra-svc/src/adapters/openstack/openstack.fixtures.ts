import {
  isRefusal,
  OpenstackSettings,
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
import { openstackKind } from './openstack.kind.js';
import { CloudSession, type CloudLimits } from './openstack.session.js';

export interface CloudAccess {
  readonly authUrl: string;
  readonly credential: string;
  readonly secret: string;
  readonly region: string;
}

export const cloudConnection = (
  { authUrl, credential, region }: CloudAccess,
  settings: Readonly<Record<string, unknown>> = {},
): Connection => ({
  name: 'openstack' as ConnectionName,
  provider: 'openstack',
  region,
  zone: '',
  settings: {
    authUrl,
    applicationCredential: credential,
    image: 'debian-12',
    externalNetwork: 'external',
    ...settings,
  },
  secretRef: null,
  registration: 'event-1',
});

export const cloudSession = (access: CloudAccess, limits: CloudLimits): CloudSession => {
  const { name: connection, region, settings } = cloudConnection(access);
  return new CloudSession({ connection, region, settings: OpenstackSettings.parse(settings) }, access.secret, limits);
};

export const openCloud = (
  access: CloudAccess,
  limits: CloudLimits,
  settings: Readonly<Record<string, unknown>> = {},
): InfrastructureProvider => {
  const provider = openstackKind(limits).open(cloudConnection(access, settings), access.secret);
  if (isRefusal(provider)) throw new Error(provider.message);
  return provider;
};

export const cloudGroup = (
  count: number,
  of: { readonly role?: string; readonly spec?: string } = {},
): MachineGroup => {
  const uid = randomUUID() as ClusterUid;
  const cluster = `c${uid.slice(0, 6)}`;
  return {
    ...{ name: `spec.${cluster}.openstack`, namespace: 'spec' as Namespace, cluster, uid },
    ...{ image: 'debian-12', network: 'openstack-vpc', firewall: 'openstack-sg', sshKey: 'openstack-sshkey' },
    machines: Array.from({ length: count }, (_, at) => ({
      name: `${cluster}-w-${at + 1}-aaaaa` as NodeName,
      spec: of.spec ?? 'm1.small',
      zone: undefined,
      rootDisk: { type: 'default', size: 'default' },
      labels: { 'fairlead.dev/role': of.role ?? 'worker' },
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
  await provider.ensureNetwork({ name: 'openstack-vpc', subnet: 'openstack-subnet', cidr: '192.168.77.0/24' }, signal);
  const rules = [{ protocol: 'tcp', ports: { from: 22, to: 22 }, source: '0.0.0.0/0' }] as const;
  await provider.ensureFirewall({ name: 'openstack-sg', rules }, signal);
  await provider.ensureSshKey({ name: 'openstack-sshkey', publicKey }, signal);
};
