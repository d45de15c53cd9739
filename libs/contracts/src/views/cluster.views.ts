import * as z from 'zod';
import { OnCreationFailure } from '../cluster-spec.js';
import { PUBLICATION_BLOCKS } from '../published.names.js';
import { PublishedServiceView } from '../published.services.js';
import { IDENTITY_BLOCKS } from '../realm.js';
import { VirtualAddressView } from './address.views.js';
import { paged } from './list.views.js';
import { NodeView } from './node.views.js';
import { OperationKind, StepView } from './operation.views.js';
import { time } from './time.js';

const CostView = z
  .strictObject({
    currency: z.string().describe('ISO 4217'),
    perHour: z.number().describe('What its machines cost in an hour, as they are now'),
    sinceCreation: z
      .number()
      .describe('What all its machines have cost so far, those that are gone included, by the prices of today'),
    unpriced: z
      .array(z.strictObject({ connection: z.string(), machineType: z.string(), machines: z.int() }))
      .describe('Machines that it has or had, and the price list does not; they are not in the sums'),
  })
  .meta({ id: 'ClusterCost', description: 'What machines cost by the price list of the installation' });

/**
 * CB-Ladybug's fields keep their names, without the admin kubeconfig and the SSH keys that it returned in every
 * response; Fairlead's own fields follow them.
 */

/** CB-Ladybug's phases of a cluster. */
export const CLUSTER_PHASES = ['Pending', 'Provisioning', 'Provisioned', 'Failed', 'Deleting'] as const;
export const ClusterPhase = z.enum(CLUSTER_PHASES);
export type ClusterPhase = z.infer<typeof ClusterPhase>;

/** The current state of a cluster, beyond the phase of its creation; the first that applies. */
export const CLUSTER_STATES = [
  'Provisioning',
  'Running',
  'Maintaining',
  'Degraded',
  'Paused',
  'Failed',
  'Deleting',
] as const;
export const ClusterLifeState = z.enum(CLUSTER_STATES);
export type ClusterLifeState = z.infer<typeof ClusterLifeState>;

/** azimuth's phases of a cluster. */
export const AZIMUTH_PHASES = [
  'Pending',
  'Reconciling',
  'Upgrading',
  'Ready',
  'Deleting',
  'Unhealthy',
  'Failed',
  'Unknown',
] as const;
export const AzimuthPhase = z.enum(AZIMUTH_PHASES);
export type AzimuthPhase = z.infer<typeof AzimuthPhase>;

export const CONDITION_TYPES = [
  'Accepted',
  'InfrastructureReady',
  'ControlPlaneReady',
  'NetworkReady',
  'Ready',
  'Available',
  'NodesReady',
  'MachinesReady',
  'MachinesPresent',
  'NodesPresent',
  'NodesAsDesired',
  'NetworkApplied',
  'VirtualAddressesReady',
  'ApiAddressHeld',
  'HookBlocked',
  'HookSecretsPresent',
  'EtcdHealthy',
  'AddonsHealthy',
  'DeclaredStateApplied',
  'RemediationAllowed',
  'BackupsHealthy',
  'IdentityReady',
  'EndpointAvailable',
  'CloudController',
  'Reserved',
  'Expiring',
  'Upgrading',
  'Progressing',
  'Paused',
  'Stalled',
  'CertificatesValid',
  'ConnectionsVerified',
  'WaitingForConnection',
  'Quarantined',
] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** The reason of a condition. Failed stages of a creation have CB-Ladybug's reason codes instead. */
export const CONDITION_REASONS = [
  'QuorumLost',
  'ControlPlanesNotReady',
  'NodesLost',
  'NodesNotReady',
  'NodesChanging',
  'RemovalStuck',
  'DrainBlocked',
  'MachinesAway',
  'MachinesMoved',
  'NodesMissing',
  'NodesWithoutMachine',
  'EtcdDegraded',
  'NodesDrifted',
  'AddonsFailed',
  'DeclaredStateNotApplied',
  'RemediationSuspended',
  'NetworkFailed',
  'NetworkWaiting',
  'AddressNotHeld',
  'AddressUnreachable',
  'ApiAddressNotHeld',
  'ApiAddressHeldTwice',
  'HookAsksForTime',
  'HookFailed',
  'HookSecretMissing',
  'NodesFailed',
  'UpgradeHalted',
  'UpgradeRunning',
  'AwaitingApproval',
  'UpgradeWaiting',
  'MixedVersions',
  'NodesAdding',
  'NodesRemoving',
  'NodesReplacing',
  'EtcdRestoring',
  'EtcdSnapshot',
  'BackupFailed',
  'BackupNotVerified',
  'BackupOverdue',
  'ClusterPaused',
  'StepTimedOut',
  'CertificatesEnding',
  ...IDENTITY_BLOCKS,
  ...PUBLICATION_BLOCKS,
  'EndpointUnavailable',
  'CloudControllerFailed',
  'ConnectionUnverified',
  'ConnectionBusy',
  'EventsQuarantined',
] as const;
export type ConditionReason = (typeof CONDITION_REASONS)[number];

export const ConditionView = z
  .strictObject({
    type: z.enum(CONDITION_TYPES),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string(),
    message: z.string(),
    lastTransitionTime: time,
  })
  .meta({ id: 'Condition', description: 'One thing that is true of a cluster or not' });
export type ConditionView = z.infer<typeof ConditionView>;

export const ADDON_PHASES = [
  'Pending',
  'Preparing',
  'Installing',
  'Deployed',
  'Upgrading',
  'Uninstalling',
  'Failed',
] as const;
export type AddonPhase = (typeof ADDON_PHASES)[number];

/** An addon of a cluster: its network, DNS and proxy, and storage. */
export const AddonView = z
  .strictObject({
    name: z.string(),
    phase: z.enum(ADDON_PHASES),
    version: z.string().describe('Empty: it is not installed yet'),
    revision: z.int().describe('How often another version of it was installed'),
    since: time.describe('When it came into its phase, or to its version'),
    message: z.string().describe('Why it has failed, and when it is tried again; empty: it has not failed'),
  })
  .meta({ id: 'Addon' });
export type AddonView = z.infer<typeof AddonView>;

export const RESERVATION_PHASES = ['Pending', 'Active', 'Denied'] as const;

/** The limited lifetime of a cluster. */
export const LeaseView = z
  .strictObject({
    startsAt: time.nullable().describe('No machine is requested earlier; null: at once'),
    endsAt: time.describe('The cluster is gone by then'),
    deletionAt: time.describe('When the deletion of the cluster begins'),
    gracePeriod: z.string(),
    warnings: z.array(z.string()).describe('How long before its end warnings are recorded'),
    warned: z.array(z.string()).describe('Those that were recorded for this end'),
    reservations: z
      .array(
        z.strictObject({
          connection: z.string(),
          phase: z.enum(RESERVATION_PHASES),
          endsAt: time.nullable().describe('The end that the provider has confirmed; null: none yet'),
          sizes: z.record(z.string(), z.string()).describe('Which machine size is requested for a declared one'),
          message: z.string().describe("Of a denial: the provider's words; empty: nothing was denied last"),
        }),
      )
      .describe('Empty: nothing is reserved'),
  })
  .meta({ id: 'Lease', description: 'The limited lifetime of a cluster' });
export type LeaseView = z.infer<typeof LeaseView>;

export const ClusterView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Cluster'),
    status: z.strictObject({
      phase: ClusterPhase,
      state: ClusterLifeState.describe('How the cluster is now'),
      azimuthPhase: AzimuthPhase.describe("azimuth's phase, by its order of precedence"),
      reasons: z.array(z.string()).describe('The reasons of the conditions that its state follows from'),
      reason: z
        .string()
        .describe(
          "The code of a failure or of a refusal; empty when nothing is wrong. Below /ladybug, CB-Ladybug's code",
        ),
      message: z.string(),
    }),
    mcis: z.string().describe("Name of the cluster's machine group"),
    namespace: z.string(),
    k8sVersion: z.string(),
    cpLeader: z.string().describe('Name of the leading control plane; empty until machines are planned'),
    cpGroup: z.string(),
    networkCni: z.string(),
    label: z.string(),
    installMonAgent: z.string(),
    loadbalancer: z.string(),
    etcd: z.string(),
    description: z.string(),
    createdTime: time,
    serviceType: z.string(),
    nodes: z.array(NodeView),
    uid: z.string().describe('One incarnation of the cluster: the name may return, the uid does not'),
    singleNode: z.boolean(),
    endpoint: z.string().describe('https://host:port of the Kubernetes API; empty until it is known'),
    podCidr: z.string(),
    serviceCidr: z.string(),
    serviceDnsDomain: z.string(),
    conditions: z.array(ConditionView),
    virtualAddresses: z.array(VirtualAddressView).optional().describe('Absent: none is declared'),
    addons: z.array(AddonView).optional().describe('Absent: the cluster was requested from an earlier release'),
    services: z
      .array(PublishedServiceView)
      .optional()
      .describe('Services of the cluster that ask to be published; absent: none does'),
    onFailure: OnCreationFailure.optional().describe('What becomes of it if its creation fails; absent: keep'),
    lease: LeaseView.optional().describe('Absent: it has no end'),
    cost: CostView.optional().describe('Absent: the installation has no price list'),
    progress: z
      .strictObject({
        operation: OperationKind,
        currentStep: z.string().nullable(),
        title: z.string().describe('What happens now, for a person'),
        nodesReady: z.int(),
        nodesTotal: z.int(),
        steps: z.array(StepView),
        nextActions: z
          .array(z.string())
          .describe('What an operator can do about it, each with its command; empty while it goes on by itself'),
      })
      .nullable()
      .describe('The latest operation'),
    lastSeq: z.int().describe('Sequence of the latest event that changed this view'),
    clusterConfig: z
      .string()
      .optional()
      .describe(
        "Only below /ladybug, and only for operators: a kubeconfig with the caller's own client certificate; empty until the cluster has signed one",
      ),
  })
  .meta({ id: 'Cluster' });
export type ClusterView = z.infer<typeof ClusterView>;

export const ClusterList = z
  .strictObject({ kind: z.literal('ClusterList'), items: z.array(ClusterView), ...paged })
  .meta({ id: 'ClusterList' });
export type ClusterList = z.infer<typeof ClusterList>;
