import type { ClusterUid, StoredEvent } from '@fairlead/contracts';
import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';

/** Data of the task: certificates of this cluster end soon; the earliest of those that were reported, at this moment. */
export interface RenewCertificates {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly earliest: string;
  /** The warning's place in the log. */
  readonly seq: number;
}

/** The last warning of the cluster. */
interface Warned {
  readonly warning?: RenewCertificates;
}

const UNWARNED: Warned = {};

const evolve = (known: Warned, { type, data, meta }: StoredEvent): Warned => {
  switch (type) {
    case 'CertificatesExpiring':
      return { warning: { uid: data.uid, earliest: data.earliest, seq: meta.seq } };
    case 'ClusterRequested':
    case 'ClusterDeletionRequested':
    case 'ClusterDeleted':
      return UNWARNED;
    default:
      return known;
  }
};

/** Certificates that end may be renewed; whether that is desired here is checked when the task begins. */
export const renewalReconciler: Reconciler<Warned> = {
  name: 'certificate-renewal',
  version: 2,
  context: 'request',
  decider: stateOnly(UNWARNED, evolve),
  generation: ({ warning }) => warning?.uid ?? '',
  tasks: ({ warning }) =>
    warning === undefined
      ? []
      : [
          {
            type: 'RenewCertificates',
            key: `RenewCertificates/${warning.earliest}`,
            reason: 'certificates end soon',
            data: warning,
          },
        ],
};
