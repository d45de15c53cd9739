import { RENEW_BEFORE_MS, type ClusterUid, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { later, nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** Look at what agents reported, at `now` (RFC 3339). */
export type LookAtCertificates = Command<
  'LookAtCertificates',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly now: string }
>;

interface Reported {
  readonly certificates: readonly { readonly name: string; readonly expiresAt: string }[];
  /** The end that was warned of; a renewed certificate ends later, and is warned of anew. */
  readonly warned: string | null;
}

export interface Certificates {
  readonly uid: ClusterUid | null;
  readonly nodes: Readonly<Record<string, Reported>>;
}

const earliestOf = ({ certificates }: Reported): string | undefined =>
  certificates.map(({ expiresAt }) => expiresAt).toSorted()[0];

/** When certificates of the node will have to be warned of; undefined: they were, or none were reported. */
export const warnAt = ({ nodes }: Certificates, node: string): string | undefined => {
  const reported = nodes[node];
  const earliest = reported === undefined ? undefined : earliestOf(reported);
  if (reported === undefined || earliest === undefined || reported.warned === earliest) return undefined;
  return later(earliest, -RENEW_BEFORE_MS);
};

const warning = (
  state: Certificates,
  { uid, node, now }: LookAtCertificates['data'],
): readonly Fact<'CertificatesExpiring'>[] => {
  const reported = state.nodes[node];
  const dueAt = warnAt(state, node);
  const earliest = reported === undefined ? undefined : earliestOf(reported);
  if (state.uid !== uid || reported === undefined || earliest === undefined || dueAt === undefined || now < dueAt)
    return nothing;
  const limit = later(now, RENEW_BEFORE_MS);
  const names = reported.certificates.filter(({ expiresAt }) => expiresAt < limit).map(({ name }) => name);
  return [{ type: 'CertificatesExpiring', data: { uid, node, earliest, names } }];
};

/** Certificates of control planes, and those whose end was told. In the stream of roll-outs. */
export const certificates: Decider<Certificates, LookAtCertificates, Fact<'CertificatesExpiring'>> = {
  initial: { uid: null, nodes: {} },
  reads: 'cluster',

  decide: (state, { data }) => warning(state, data),

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
        return { uid: null, nodes: {} };
      default:
        return state;
    }
  },
};
