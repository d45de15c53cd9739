import type { EventType } from '@fairlead/contracts';
import type { Milestone } from '../nodes/nodes.projection.js';
import type { StepSequence } from './step.sequence.js';

/** Which nodes of an operation a step is about; followers are the control planes that join the first one. */
export type Group = 'all' | 'follower' | 'worker';

export interface StepDefinition {
  readonly name: string;
  readonly title: string;
  /** Title of the part of the operation that it belongs to. */
  readonly group: string;
  /** The fact that ends the step. */
  readonly closedBy?: EventType;
  /** What each node of the group must have passed; without closedBy the step ends when all have. */
  readonly passed?: { readonly milestone: Milestone; readonly by: Group };
  /** The fact without which the operation has no such step. */
  readonly onlyAfter?: EventType;
  /** Only operations whose machines are reserved have such a step. */
  readonly reserves?: true;
  /** It counts the machines that are deleted. */
  readonly deletes?: true;
  /** It counts the nodes that are through what was asked of them. */
  readonly acts?: true;
  /** It begins with the first node that is through the step before it, because hosts proceed independently. */
  readonly overlaps?: true;
  /** What the services call it when an attempt at it fails. */
  readonly attempts?: readonly string[];
  /** The fact that says what it resulted in, if it is not the one that ends it. */
  readonly notedBy?: EventType;
}

type Step = Omit<StepDefinition, 'group'>;

const part = (group: string, steps: readonly Step[]): readonly StepDefinition[] =>
  steps.map((step) => ({ ...step, group }));

const MACHINES: Step = {
  name: 'create-machines',
  title: 'Create machines',
  closedBy: 'VmsCreated',
  passed: { milestone: 'created', by: 'all' },
  attempts: ['create machines'],
};
const HOSTS = part('Hosts', [
  {
    name: 'reach-hosts',
    title: 'Reach over SSH',
    passed: { milestone: 'reached', by: 'all' },
    attempts: ['ReachHost'],
  },
  {
    name: 'start-agents',
    title: 'Start the agents',
    passed: { milestone: 'agentStarted', by: 'all' },
    overlaps: true,
  },
  {
    name: 'install-software',
    title: 'Install the software',
    passed: { milestone: 'initialized', by: 'all' },
    overlaps: true,
    attempts: ['InitializeNode'],
  },
  {
    name: 'verify-hosts',
    title: 'Verify',
    passed: { milestone: 'bootstrapped', by: 'all' },
    overlaps: true,
    attempts: ['VerifyNode'],
  },
]);
const JOIN_CONTROL_PLANES: Step = {
  name: 'join-control-planes',
  title: 'Join control planes',
  passed: { milestone: 'joined', by: 'follower' },
  attempts: ['JoinControlPlane'],
};
const JOIN_WORKERS: Step = {
  name: 'join-workers',
  title: 'Join workers',
  passed: { milestone: 'joined', by: 'worker' },
  attempts: ['JoinWorker', 'SetNodeLabels'],
};
const NODES_READY: Step = {
  name: 'nodes-ready',
  title: 'Nodes Ready',
  passed: { milestone: 'ready', by: 'all' },
  attempts: ['AwaitNodeReady'],
};

const CREATE: readonly StepDefinition[] = [
  ...part('Infrastructure', [
    {
      name: 'validate',
      title: 'Validate the request',
      closedBy: 'ClusterAccepted',
      attempts: ['verify connection', 'resolve region'],
    },
    {
      name: 'identity',
      title: 'Client at the identity realm',
      closedBy: 'IdentityReady',
      onlyAfter: 'IdentityRequested',
    },
    {
      name: 'reserve-machines',
      title: 'Reserve machines',
      closedBy: 'ReservationActivated',
      reserves: true,
      attempts: ['reserve machines'],
    },
    {
      name: 'shared-resources',
      title: 'Shared resources',
      closedBy: 'VmsPlanned',
      attempts: ['ensure network', 'ensure firewall', 'ensure SSH key', 'resolve image'],
    },
    MACHINES,
    {
      name: 'load-balancer',
      title: 'Load balancer',
      closedBy: 'LoadBalancerReady',
      attempts: ['ensure load balancer'],
    },
  ]),
  ...HOSTS,
  ...part('Control plane', [
    {
      name: 'init-control-plane',
      title: 'kubeadm init',
      closedBy: 'ControlPlaneInitialized',
      attempts: ['InitControlPlane'],
    },
    { name: 'install-network', title: 'Pod network', closedBy: 'NetworkReady', attempts: ['InstallNetwork'] },
    JOIN_CONTROL_PLANES,
    {
      name: 'verify-control-plane',
      title: 'All healthy',
      closedBy: 'ControlPlaneReady',
      attempts: ['VerifyControlPlane'],
    },
  ]),
  ...part('Nodes and addons', [
    JOIN_WORKERS,
    NODES_READY,
    {
      name: 'install-addons',
      title: 'Addons',
      closedBy: 'ClusterReady',
      notedBy: 'AddonInstalled',
      attempts: ['InstallAddons', 'AuthorizeUsers'],
    },
  ]),
];

const PLAN_MACHINES: Step = { name: 'plan-machines', title: 'Plan machines', closedBy: 'VmsPlanned' };

const REMOVE: readonly Step[] = [
  { name: 'drain', title: 'Cordon and drain', closedBy: 'NodeDrained', attempts: ['RemoveNode'] },
  { name: 'remove-node', title: 'Leave the cluster', closedBy: 'NodeRemoved' },
  {
    name: 'delete-machine',
    title: 'Delete the machine',
    closedBy: 'VmDeleted',
    attempts: ['delete machine', 'delete machines'],
  },
];

/** The new node of a replacement. */
const NEW_NODE: readonly StepDefinition[] = [
  ...part('Infrastructure', [PLAN_MACHINES, MACHINES]),
  ...HOSTS,
  ...part('New node', [JOIN_WORKERS, { ...NODES_READY, closedBy: 'NodeReplacementReady' }]),
];

/** Steps of tasks that call providers. */
export const PROVIDER_STEPS: ReadonlySet<string> = new Set([
  'validate',
  'reserve-machines',
  'shared-resources',
  'plan-machines',
  'create-machines',
  'load-balancer',
  'delete-machine',
  'delete-load-balancer',
  'delete-machines',
]);

/** What each kind of operation consists of, in order. A retry has the steps of what it retries. */
export const STEPS: Readonly<Record<StepSequence, readonly StepDefinition[]>> = {
  create: CREATE,
  'add-nodes': [
    ...part('Infrastructure', [PLAN_MACHINES, MACHINES]),
    ...HOSTS,
    ...part('Nodes', [JOIN_CONTROL_PLANES, JOIN_WORKERS, { ...NODES_READY, closedBy: 'ClusterReady' }]),
  ],
  'remove-node': part('Remove', REMOVE),
  'replace-node': [...NEW_NODE, ...part('Old node', REMOVE)],
  'replace-node-first': [...part('Old node', REMOVE), ...NEW_NODE],
  'replace-nodes': part('Rollout', [
    { name: 'replace-nodes', title: 'Replace the nodes', closedBy: 'PoolRolloutCompleted' },
  ]),
  delete: part('Delete', [
    {
      name: 'dismantle',
      title: 'Stop workloads and release load balancers and volumes',
      closedBy: 'ClusterDismantled',
      attempts: ['DismantleCluster'],
    },
    {
      name: 'delete-load-balancer',
      title: 'Load balancer',
      closedBy: 'LoadBalancerDeleted',
      attempts: ['delete load balancer'],
    },
    {
      name: 'delete-machines',
      title: 'Machines',
      closedBy: 'InfrastructureDeleted',
      deletes: true,
      attempts: ['delete machine', 'delete machines'],
    },
    {
      name: 'hooks-after-deletion',
      title: 'Hooks (AfterClusterDelete) and identity realm',
      onlyAfter: 'InfrastructureDeleted',
      closedBy: 'ClusterDeleted',
    },
  ]),
  'reboot-nodes': part('Nodes', [{ name: 'reboot-nodes', title: 'Reboot', acts: true }]),
  'drain-nodes': part('Nodes', [{ name: 'drain-nodes', title: 'Cordon and drain', acts: true }]),
  'cordon-nodes': part('Nodes', [{ name: 'cordon-nodes', title: 'Cordon', acts: true }]),
  'uncordon-nodes': part('Nodes', [{ name: 'uncordon-nodes', title: 'Uncordon', acts: true }]),
  'repair-nodes': part('Nodes', [{ name: 'repair-nodes', title: 'Drain and repair', acts: true }]),
  'snapshot-etcd': part('etcd', [
    { name: 'snapshot-etcd', title: 'Take a snapshot', closedBy: 'EtcdSnapshotTaken', attempts: ['TakeSnapshot'] },
  ]),
  'verify-snapshot': part('etcd', [
    {
      name: 'verify-snapshot',
      title: 'Restore into a scratch etcd and read it',
      closedBy: 'EtcdSnapshotVerified',
      attempts: ['VerifySnapshot'],
    },
  ]),
  'restore-etcd': part('etcd', [
    { name: 'prepare-restore', title: 'Choose the members', closedBy: 'EtcdRestoreStarted' },
    {
      name: 'restore-etcd',
      title: 'Restore etcd',
      closedBy: 'EtcdRestored',
      notedBy: 'EtcdRestoreAdvanced',
      attempts: ['PlaceSnapshot', 'TakeRestoreStep'],
    },
  ]),
  // How far each node is, the upgrade itself shows.
  upgrade: part('Upgrade', [
    { name: 'plan', title: 'Check the rules and plan', closedBy: 'UpgradePlanned' },
    { name: 'approve', title: 'Wait for the approval of the plan', closedBy: 'RolloutStarted' },
    { name: 'rollout', title: 'Change the nodes', closedBy: 'RolloutCompleted' },
  ]),
};
