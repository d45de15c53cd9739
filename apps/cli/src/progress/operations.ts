/** The steps of each operation, in the order in which the services take them. Pure data. */

export type OperationKind = 'create' | 'add-nodes' | 'remove-nodes' | 'delete';

export type StepId =
  | 'validate'
  | 'resources'
  | 'machines'
  | 'load-balancer'
  | 'reach'
  | 'agents'
  | 'software'
  | 'verify'
  | 'init'
  | 'network'
  | 'join-control-planes'
  | 'control-plane-health'
  | 'join-workers'
  | 'nodes-ready'
  | 'addons'
  | 'drain'
  | 'leave'
  | 'dismantle'
  | 'delete-load-balancer'
  | 'delete-machines'
  | 'release-name';

export interface StepPlan {
  readonly id: StepId;
  readonly title: string;
  /** How many nodes take it; undefined: it is one thing. */
  readonly total?: number | undefined;
  /** It begins with the first success of the step before it, because hosts go ahead independently. */
  readonly overlaps?: boolean;
}

export interface PhasePlan {
  readonly title: string;
  readonly steps: readonly StepPlan[];
}

export interface Shape {
  readonly controlPlanes: number;
  readonly workers: number;
}

const hosts = (total: number): PhasePlan => ({
  title: 'Hosts',
  steps: [
    { id: 'reach', title: 'Reach over SSH', total },
    { id: 'agents', title: 'Start the agents', total, overlaps: true },
    { id: 'software', title: 'Install the software', total, overlaps: true },
    { id: 'verify', title: 'Verify', total, overlaps: true },
  ],
});

const needed = (steps: readonly StepPlan[]): readonly StepPlan[] => steps.filter(({ total }) => total !== 0);

const createPhases = ({ controlPlanes, workers }: Shape): readonly PhasePlan[] => [
  {
    title: 'Infrastructure',
    steps: [
      { id: 'validate', title: 'Validate the request' },
      { id: 'resources', title: 'Shared resources' },
      { id: 'machines', title: 'Create machines', total: controlPlanes + workers },
      { id: 'load-balancer', title: 'Load balancer' },
    ],
  },
  hosts(controlPlanes + workers),
  {
    title: 'Control plane',
    steps: needed([
      { id: 'init', title: 'kubeadm init' },
      { id: 'network', title: 'Pod network' },
      { id: 'join-control-planes', title: 'Join control planes', total: controlPlanes - 1 },
      { id: 'control-plane-health', title: 'All healthy' },
    ]),
  },
  {
    title: 'Nodes and addons',
    steps: needed([
      { id: 'join-workers', title: 'Join workers', total: workers },
      { id: 'nodes-ready', title: 'Nodes Ready', total: controlPlanes + workers },
      { id: 'addons', title: 'Addons' },
    ]),
  },
];

const addPhases = ({ workers }: Shape): readonly PhasePlan[] => [
  { title: 'Infrastructure', steps: [{ id: 'machines', title: 'Create machines', total: workers }] },
  hosts(workers),
  {
    title: 'Nodes',
    steps: [
      { id: 'join-workers', title: 'Join workers', total: workers },
      { id: 'nodes-ready', title: 'Nodes Ready', total: workers },
    ],
  },
];

const removePhases = (total: number): readonly PhasePlan[] => [
  {
    title: 'Remove',
    steps: [
      { id: 'drain', title: 'Cordon and drain', total },
      { id: 'leave', title: 'Leave etcd and Kubernetes', total },
      { id: 'delete-machines', title: 'Delete the machines', total },
    ],
  },
];

const deletePhases = (machines: number): readonly PhasePlan[] => [
  {
    title: 'Delete',
    steps: needed([
      { id: 'dismantle', title: 'Stop work and release what it holds' },
      { id: 'delete-load-balancer', title: 'Load balancer' },
      { id: 'delete-machines', title: 'Machines', total: machines },
      { id: 'release-name', title: 'Free the name' },
    ]),
  },
];

/** The plan of an operation over so many nodes. */
export const phasesOf = (kind: OperationKind, shape: Shape): readonly PhasePlan[] => {
  switch (kind) {
    case 'create':
      return createPhases(shape);
    case 'add-nodes':
      return addPhases(shape);
    case 'remove-nodes':
      return removePhases(shape.controlPlanes + shape.workers);
    case 'delete':
      return deletePhases(shape.controlPlanes + shape.workers);
  }
};

/**
 * What a service calls the step that failed: infra-svc names the operation of its provider, bootstrap-svc its job. A step that is missing
 * here belongs to whatever runs.
 */
const STEP_OF_SERVICE_STEP: Readonly<Record<string, StepId>> = {
  'verify connection': 'validate',
  'resolve region': 'validate',
  'ensure network': 'resources',
  'ensure firewall': 'resources',
  'ensure SSH key': 'resources',
  'resolve image': 'resources',
  'create machines': 'machines',
  'ensure load balancer': 'load-balancer',
  'delete load balancer': 'delete-load-balancer',
  'delete machine': 'delete-machines',
  'delete machines': 'delete-machines',
  InitializeNode: 'software',
  VerifyNode: 'verify',
  InitControlPlane: 'init',
  InstallNetwork: 'network',
  JoinControlPlane: 'join-control-planes',
  VerifyControlPlane: 'control-plane-health',
  JoinWorker: 'join-workers',
  AwaitNodeReady: 'nodes-ready',
  InstallAddons: 'addons',
  RemoveNode: 'drain',
  DismantleCluster: 'dismantle',
};

export const stepNamed = (serviceStep: string): StepId | undefined => STEP_OF_SERVICE_STEP[serviceStep];
