import {
  isOfKubelet,
  KUBELET_LATE_MS,
  RENEW_BEFORE_MS,
  type ClusterUid,
  type EventData,
  type Fact,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';
import { later, nothing, type Decider } from '@fairlead/event-sourcing';

type Ending = EventData<'CertificatesReported'>['certificates'][number];

/** Those of a control plane are renewed together; a kubelet renews its own. */
type Group = 'control-plane' | 'kubelet';
const GROUPS: readonly Group[] = ['control-plane', 'kubelet'];
const LEAD_MS: Readonly<Record<Group, number>> = { 'control-plane': RENEW_BEFORE_MS, kubelet: KUBELET_LATE_MS };

interface Reported {
  readonly certificates: readonly Ending[];
  /** The expiry that the last warning was about; a renewed certificate expires later and is warned about again. */
  readonly warned: { readonly [G in Group]?: string };
}

export interface Certificates {
  readonly uid: ClusterUid | null;
  readonly nodes: Readonly<Record<string, Reported>>;
}

const NONE: Certificates = { uid: null, nodes: {} };

const groupOf = (one: Pick<Ending, 'name'>): Group => (isOfKubelet(one) ? 'kubelet' : 'control-plane');

const of = ({ certificates }: Reported, group: Group): readonly Ending[] =>
  certificates.filter((one) => groupOf(one) === group);

const earliestOf = (certificates: readonly Ending[]): string | undefined =>
  certificates.map(({ expiresAt }) => expiresAt).toSorted()[0];

/**
 * When a warning about certificates of the group is due, and their earliest expiry; undefined: already given, or there
 * are none.
 */
const dueOf = (reported: Reported, group: Group): { readonly at: string; readonly earliest: string } | undefined => {
  const earliest = earliestOf(of(reported, group));
  if (earliest === undefined || reported.warned[group] === earliest) return undefined;
  return { at: later(earliest, -LEAD_MS[group]), earliest };
};

/** When a warning about certificates of the node will be due; undefined: already given, or none were reported. */
export const warnAt = ({ nodes }: Certificates, node: string): string | undefined => {
  const reported = nodes[node];
  if (reported === undefined) return undefined;
  return GROUPS.flatMap((group) => dueOf(reported, group)?.at ?? []).toSorted()[0];
};

/** The warnings that are due at `now` (RFC 3339). */
export const warnings = ({ uid, nodes }: Certificates, now: string): readonly Fact<'CertificatesExpiring'>[] => {
  if (uid === null) return nothing;
  return Object.entries(nodes).flatMap(([node, reported]) =>
    GROUPS.flatMap((group): readonly Fact<'CertificatesExpiring'>[] => {
      const due = dueOf(reported, group);
      if (due === undefined || now < due.at) return [];
      const limit = later(now, LEAD_MS[group]);
      const names = of(reported, group).flatMap(({ name, expiresAt }) => (expiresAt < limit ? [name] : []));
      return [{ type: 'CertificatesExpiring', data: { uid, node: node as NodeName, earliest: due.earliest, names } }];
    }),
  );
};

/** Certificates of nodes, and warnings about them. In the stream of rollouts. Has no commands. */
export const certificates: Decider<Certificates, never, Fact<'CertificatesExpiring'>> = {
  initial: NONE,
  reads: 'cluster',

  decide: () => nothing,

  evolve: (state, event: StoredEvent): Certificates => {
    switch (event.type) {
      case 'ClusterRequested':
        return { uid: event.data.uid, nodes: {} };
      case 'CertificatesReported': {
        const { node, certificates: reported } = event.data;
        const warned = state.nodes[node]?.warned ?? {};
        return { ...state, nodes: { ...state.nodes, [node]: { certificates: reported, warned } } };
      }
      case 'CertificatesExpiring': {
        const { node, earliest, names } = event.data;
        const { certificates: reported, warned } = state.nodes[node] ?? { certificates: [], warned: {} };
        const group = names.some((name) => isOfKubelet({ name })) ? 'kubelet' : 'control-plane';
        const after = { certificates: reported, warned: { ...warned, [group]: earliest } };
        return { ...state, nodes: { ...state.nodes, [node]: after } };
      }
      case 'VmDeleted': {
        const { [event.data.name]: _gone, ...nodes } = state.nodes;
        return { ...state, nodes };
      }
      case 'ClusterDeleted':
        return event.data.uid === state.uid ? NONE : state;
      default:
        return state;
    }
  },
};
