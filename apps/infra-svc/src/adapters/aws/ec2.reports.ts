import type { AwsSettings, ClusterUid, NodeName } from '@fairlead/contracts';
import type { MachineReport } from '../../providers/provider.ports.js';
import type * as answers from './aws.answers.js';
import { TAG, tagsIn } from './aws.marks.js';

/** The parts of a connection that the report of an instance needs. */
export interface Reporting {
  readonly region: string;
  readonly settings: Pick<AwsSettings, 'user' | 'profile' | 'publicAddresses'>;
}

const SSH_PORT = 22;

export const isTerminated = ({ State }: answers.Instance): boolean => State.Name === 'terminated';
export const uidOf = ({ Tags }: answers.Instance): string => tagsIn(Tags)[TAG.uid] ?? '';
export const groupNameOf = ({ Tags }: answers.Instance): string => tagsIn(Tags)[TAG.group] ?? '';
export const nodeNameOf = ({ Tags, InstanceId }: answers.Instance): string => tagsIn(Tags)[TAG.name] ?? InstanceId;
export const roleOf = ({ Tags }: answers.Instance): string => tagsIn(Tags)[TAG.role] ?? '';
export const imageOf = ({ Tags }: answers.Instance): string | undefined => tagsIn(Tags)[TAG.image];
export const zoneOf = ({ Placement }: answers.Instance): string => Placement?.AvailabilityZone ?? '';

/** Why AWS ended an instance, e.g. `Server.SpotInstanceTermination: Spot instance termination`. */
export const endOf = ({ StateReason }: answers.Instance): string =>
  StateReason?.Message || StateReason?.Code || 'AWS gives no reason';

/** Converts an instance to the type of the port. */
export const reportOf = (instance: answers.Instance, { region, settings }: Reporting): MachineReport => {
  const reported = {
    id: instance.InstanceId,
    name: nodeNameOf(instance) as NodeName,
    uid: uidOf(instance) as ClusterUid,
  };
  const { State, PublicIpAddress: publicIp = '', PrivateIpAddress: privateIp = '', KeyName: sshKey } = instance;
  if (isTerminated(instance))
    return { ...reported, status: 'failed', message: `the instance was terminated: ${endOf(instance)}` };
  const { user, profile, publicAddresses } = settings;
  const hasAddress = privateIp !== '' && (publicIp !== '' || !publicAddresses);
  if (State.Name === 'pending' || (State.Name === 'running' && !hasAddress)) return { ...reported, status: 'creating' };
  if (State.Name !== 'running') return { ...reported, status: 'stopped' };
  return {
    ...reported,
    status: 'running',
    publicIp,
    privateIp,
    region,
    zone: zoneOf(instance),
    ssh: { host: publicIp === '' ? privateIp : publicIp, port: SSH_PORT, user, hostKey: null },
    ...(tagsIn(instance.Tags)[TAG.reach] === 'agent' ? { reach: 'agent' as const } : {}),
    ...(sshKey === undefined || sshKey === '' ? {} : { sshKey }),
    ...(profile === undefined ? {} : { profile }),
  };
};

const age = ({ LaunchTime }: answers.Instance): number => LaunchTime?.getTime() ?? 0;

/**
 * A call that AWS completed after its caller had timed out can leave two instances of one name: the older one is the
 * machine.
 */
export const oldestOfEach = (instances: readonly answers.Instance[]): ReadonlyMap<string, answers.Instance> =>
  new Map(
    [...instances]
      .sort((one, other) => age(other) - age(one) || other.InstanceId.localeCompare(one.InstanceId))
      .map((instance) => [`${uidOf(instance)}/${nodeNameOf(instance)}`, instance]),
  );
