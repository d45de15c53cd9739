import type { CertificateView, ClusterUid, EventData } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { nodeKey } from '../common/cluster.address.js';

/** When the certificates on a control plane end, as its agent said last. */
export interface CertificatesDoc {
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
  readonly uid: ClusterUid;
  readonly certificates: EventData<'CertificatesReported'>['certificates'];
  readonly reportedAt: string;
}

/** One row per node whose agent has reported certificates. */
export const certificatesProjection: Projection<CertificatesDoc> = {
  name: 'certificates',
  table: 'certificates',

  keys: (event) => {
    const { namespace, cluster } = event.meta;
    if (event.type === 'CertificatesReported') return [nodeKey(namespace, cluster, event.data.node)];
    return event.type === 'VmDeleted' ? [nodeKey(namespace, cluster, event.data.name)] : [];
  },

  evolve: (doc, event) => {
    if (event.type === 'VmDeleted') return doc?.uid === event.data.uid ? undefined : doc;
    if (event.type !== 'CertificatesReported') return doc;
    const { namespace, cluster, time } = event.meta;
    const { uid, node, certificates } = event.data;
    return { namespace, cluster, node, uid, certificates, reportedAt: time };
  },
};

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Those that end first come first. */
export const certificateViews = (docs: readonly CertificatesDoc[], nowMs: number): CertificateView[] =>
  docs
    .flatMap(({ node, certificates, reportedAt }) =>
      certificates.map(({ name, expiresAt }) => ({
        node,
        name,
        expiresAt,
        daysLeft: Math.floor((Date.parse(expiresAt) - nowMs) / DAY_MS),
        reportedAt,
      })),
    )
    .sort((one, other) => Date.parse(one.expiresAt) - Date.parse(other.expiresAt) || (one.node < other.node ? -1 : 1));
