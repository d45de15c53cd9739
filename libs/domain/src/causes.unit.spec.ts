import { EVENTS, type EventType } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { BEGUN_BY, causeBegunBy } from './score.js';

/** They name a node, and nothing of its time is spent otherwise from then on. */
const BESIDE = new Set<string>(
  `OrphanVmRemovalRequested OrphanVmFound OrphanVmAdopted HookSkipped NodeRemovalCancellationRequested UpdatesDisabledSet
   SshKeyRotationProgressed SshKeyRotated AuthorizedKeyAdded AuthorizedKeyRemoved HostReturned HostWithheld VmAddressChanged VmPowerManaged
   AgentCredentialIssued AgentUpdated AgentTakenOver ApiBalanced JoinTokenRenewed KubeconfigRefreshed AuthenticationConfigured TunnelStarted
   NodeLabelsSet DesiredVersionsSet DesiredNetworkSet NodeNetworkApplied NodeInitialized NodeDiverged VersionChanged
   EtcdSnapshotPlaced EtcdSnapshotRemoved EtcdSnapshotVerified EtcdSnapshotTaken EtcdRestoreStarted EtcdLeaderMoved
   CertificatesExpiring CertificatesReported ProbeRecovered NodeAddressesReported VirtualAddressesProbed ApiAddressProbed UpgradePlanned NodesMarked NodesUnmarked UpgradeStepRecovered SurgeReleased
   RemediationSkipped DriftRepairSuspended NodeExecRequested NodeExecOutputRemoved NodeLogsFollowRequested NodeLogsFollowEnded
   ControlPlaneChangeStarted NodeConditionsChanged NodeReadinessContradicted NodeReadinessConfirmed NodePressureChanged NodeWithoutMachineFound NodeWithoutMachineExpired
   NodeWithoutMachineGone`.split(/\s+/),
);

const types = Object.keys(EVENTS) as EventType[];

/** Its data name nodes or machines of a cluster. */
const isAboutNodes = (type: EventType): boolean => {
  const schema = z.toJSONSchema(EVENTS[type].data, { unrepresentable: 'any', io: 'input' });
  const fields = Object.keys(schema.properties ?? {});
  return (
    fields.some((field) => /^(node|nodes|vm|vms|machine|machines)$/.test(field)) ||
    (fields.includes('name') && /Vm|Machine|Node/.test(type))
  );
};

describe('every second of an operation', () => {
  it('has a cause: each event that names a node begins one, or is known to begin none', () => {
    const about = types.filter(isAboutNodes);
    expect(about.length).toBeGreaterThan(100);
    expect(about.filter((type) => causeBegunBy(type) === undefined && !BESIDE.has(type))).toEqual([]);
  });

  it('has no cause that no event begins', () => {
    const known = new Set<string>(types);
    expect([...Object.keys(BEGUN_BY), ...BESIDE].filter((type) => !known.has(type))).toEqual([]);
    expect([...BESIDE].filter((type) => causeBegunBy(type) !== undefined)).toEqual([]);
  });
});
