import { RENEW_BEFORE_MS, type ClusterUid, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { later, nothing, type Decider } from '@fairlead/event-sourcing';

interface Reported {
  readonly certificates: readonly { readonly name: string; readonly expiresAt: string }[];
  /** The end that was warned of; a renewed certificate ends later, and is warned of again. */
  readonly warned: string | null;
}

export interface Certificates {
  readonly uid: ClusterUid | null;
  readonly nodes: Readonly<Record<string, Reported>>;
}

const NONE: Certificates = { uid: null, nodes: {} };

const earliestOf = ({ certificates }: Reported): string | undefined =>
  certificates.map(({ expiresAt }) => expiresAt).toSorted()[0];

/** When certificates of the node will have to be warned of; undefined: they were, or none were reported. */
export const warnAt = ({ nodes }: Certificates, node: string): string | undefined => {
  const reported = nodes[node];
  const earliest = reported === undefined ? undefined : earliestOf(reported);
  if (reported === undefined || earliest === undefined || reported.warned === earliest) return undefined;
  return later(earliest, -RENEW_BEFORE_MS);
};

/** What a warning is due for at `now` (RFC 3339). */
export const warnings = (state: Certificates, now: string): readonly Fact<'CertificatesExpiring'>[] => {
  const { uid, nodes } = state;
  if (uid === null) return nothing;
  const limit = later(now, RENEW_BEFORE_MS);
  return Object.entries(nodes).flatMap(([node, reported]) => {
    const dueAt = warnAt(state, node);
    const earliest = earliestOf(reported);
    if (earliest === undefined || dueAt === undefined || now < dueAt) return [];
    const names = reported.certificates.filter(({ expiresAt }) => expiresAt < limit).map(({ name }) => name);
    return [{ type: 'CertificatesExpiring', data: { uid, node: node as NodeName, earliest, names } }];
  });
};

/** Certificates of control planes, and those that were warned of. In the stream of rollouts. It takes no commands. */
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
        const warned = state.nodes[node]?.warned ?? null;
        return { ...state, nodes: { ...state.nodes, [node]: { certificates: reported, warned } } };
      }
      case 'CertificatesExpiring': {
        const { node, earliest } = event.data;
        const known = state.nodes[node] ?? { certificates: [] };
        return { ...state, nodes: { ...state.nodes, [node]: { ...known, warned: earliest } } };
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
