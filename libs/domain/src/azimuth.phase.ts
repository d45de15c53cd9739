import type { AddonPhase, AzimuthPhase, NodeRole } from '@fairlead/contracts';

/** The parts of a cluster from which azimuth derives its phase, in the words of azimuth. */
export interface AzimuthParts {
  /** Absent: its lifetime is not limited. */
  readonly lease?: 'Creating' | 'Pending' | 'Starting' | 'Active' | 'Updating' | AzimuthLeaseEnd | 'Error' | 'Unknown';
  readonly network: 'Pending' | 'Provisioning' | 'Provisioned' | 'Deleting' | 'Failed' | 'Unknown';
  readonly controlPlane: AzimuthControlPlane;
  readonly nodes: readonly AzimuthNode[];
  readonly addons: readonly (AddonPhase | 'Unknown')[];
}

type AzimuthLeaseEnd = 'Terminating' | 'Terminated' | 'Deleting';
export type AzimuthControlPlane =
  'Pending' | 'ScalingUp' | 'ScalingDown' | 'Upgrading' | 'Ready' | 'Deleting' | 'Unhealthy' | 'Failed' | 'Unknown';

export interface AzimuthNode {
  readonly role: NodeRole;
  readonly phase: 'Pending' | 'Provisioning' | 'Ready' | 'Deleting' | 'Deleted' | 'Unhealthy' | 'Failed' | 'Unknown';
  /** undefined: not reported. */
  readonly kubelet: string | undefined;
}

type Applies = (parts: AzimuthParts) => boolean;

interface AzimuthRow {
  readonly phase: AzimuthPhase;
  readonly applies: Applies;
}

const isOneOf = <T>(value: T, ...values: readonly T[]): boolean => values.includes(value);

const lease =
  (...phases: readonly AzimuthParts['lease'][]): Applies =>
  (parts) =>
    phases.includes(parts.lease);

const network =
  (...phases: readonly AzimuthParts['network'][]): Applies =>
  (parts) =>
    phases.includes(parts.network);

const controlPlane =
  (...phases: readonly AzimuthControlPlane[]): Applies =>
  (parts) =>
    phases.includes(parts.controlPlane);

const someNode =
  (...phases: readonly AzimuthNode['phase'][]): Applies =>
  ({ nodes }) =>
    nodes.some(({ phase }) => phases.includes(phase));

const someAddon =
  (...phases: readonly AzimuthParts['addons'][number][]): Applies =>
  ({ addons }) =>
    addons.some((phase) => phases.includes(phase));

const hasSeveralKubelets =
  (role: NodeRole): Applies =>
  ({ nodes }) =>
    new Set(nodes.flatMap((node) => (node.role === role && node.kubelet !== undefined ? [node.kubelet] : []))).size > 1;

const isScaling = controlPlane('Pending', 'ScalingUp', 'ScalingDown');

/** azimuth's order: the lease, then what is in progress, from the outside in, and health last. The first row that applies wins. */
export const AZIMUTH_TABLE: readonly AzimuthRow[] = [
  { phase: 'Pending', applies: lease('Creating', 'Pending', 'Starting', 'Unknown') },
  { phase: 'Failed', applies: lease('Error') },
  { phase: 'Unhealthy', applies: lease('Terminating', 'Terminated', 'Deleting') },
  { phase: 'Reconciling', applies: network('Pending', 'Provisioning') },
  { phase: 'Deleting', applies: network('Deleting') },
  { phase: 'Failed', applies: network('Failed') },
  { phase: 'Pending', applies: network('Unknown') },
  { phase: 'Upgrading', applies: (parts) => isScaling(parts) && hasSeveralKubelets('control-plane')(parts) },
  { phase: 'Reconciling', applies: isScaling },
  { phase: 'Upgrading', applies: controlPlane('Upgrading') },
  { phase: 'Deleting', applies: controlPlane('Deleting') },
  { phase: 'Failed', applies: controlPlane('Failed') },
  { phase: 'Pending', applies: controlPlane('Unknown') },
  { phase: 'Upgrading', applies: hasSeveralKubelets('worker') },
  { phase: 'Reconciling', applies: someNode('Pending', 'Provisioning', 'Deleting', 'Deleted') },
  { phase: 'Reconciling', applies: someAddon('Pending', 'Preparing', 'Installing', 'Upgrading', 'Uninstalling') },
  { phase: 'Unhealthy', applies: controlPlane('Unhealthy') },
  { phase: 'Unhealthy', applies: someNode('Unhealthy', 'Failed', 'Unknown') },
  { phase: 'Unhealthy', applies: someAddon('Failed', 'Unknown') },
  { phase: 'Ready', applies: () => true },
];

/** The phase that azimuth would show. `isStuck`: a step has been in progress for longer than its limit. */
export const azimuthPhase = (parts: AzimuthParts, isStuck: boolean): AzimuthPhase => {
  const phase = AZIMUTH_TABLE.find(({ applies }) => applies(parts))?.phase ?? 'Unknown';
  return isStuck && isOneOf(phase, 'Pending', 'Reconciling', 'Upgrading') ? 'Unhealthy' : phase;
};
