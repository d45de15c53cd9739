import type { ClusterUid, EventData, NodeName } from '@fairlead/contracts';
import type { Holds } from '../holds/holds.js';
import type { Lifecycle } from '../lifecycle/lifecycle.evolve.js';

/** The drift of a node, as its agent last stated it. */
export interface Drift {
  readonly node: NodeName;
  readonly differences: EventData<'NodeDiverged'>['differences'];
}

/** A repair in progress. */
export interface Repair {
  readonly requestId: string;
  readonly node: NodeName;
  readonly at: string;
  /** Its agent has the permission, or gets it after the drain. */
  readonly isPermitted: boolean;
  /** For a repair with a drain: whether it has ended; absent: it has no drain. */
  readonly drained?: { readonly isOver: boolean };
}

export interface KnownDrift extends Lifecycle {
  readonly status: 'known';
  readonly uid: ClusterUid;
  readonly isReportedOnly: boolean;
  readonly holds: Holds;
  readonly pools: Readonly<Record<string, string>>;
  readonly drifts: Readonly<Record<string, Drift>>;
  readonly repairs: Readonly<Record<string, Repair>>;
  /** When repairs began, by node and item, oldest first. */
  readonly past: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Until when a node is not repaired, by node. */
  readonly suspended: Readonly<Record<string, string>>;
  /** How many repairs were requested, for the ID of the next one. */
  readonly requests: number;
}

export type DriftState = { readonly status: 'absent' } | KnownDrift;

export const ABSENT: DriftState = { status: 'absent' };

export const itemsOf = ({ differences }: Drift): readonly string[] => [
  ...new Set(differences.map(({ item, what }) => `${item}/${what}`)),
];
