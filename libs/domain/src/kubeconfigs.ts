import { type StoredEvent, type ClusterUid, type SecretRef, type KubernetesUser, without } from '@fairlead/contracts';

/** A requested kubeconfig that is not issued yet. */
export interface OpenRequest {
  readonly user: KubernetesUser;
  readonly ttlSeconds: number;
  /** RFC 3339. */
  readonly requestedAt: string;
  /** Sequence of the request in the log. */
  readonly seq: number;
}

export interface IssuedKubeconfig {
  readonly user: KubernetesUser;
  readonly ref: SecretRef;
  /** RFC 3339: when its certificate expires. */
  readonly expiresAt: string;
  /** Sequence of the issue in the log. */
  readonly seq: number;
}

/** The kubeconfigs of a cluster's operators, by request id. */
export interface Kubeconfigs {
  readonly uid: ClusterUid;
  /** The API server that signs them, as recorded at initialization. */
  readonly server: string;
  readonly caCertHash: string;
  /** By which clients reach it; absent: as it was recorded. */
  readonly published?: string;
  readonly open: Readonly<Record<string, OpenRequest>>;
  readonly sealed: Readonly<Record<string, IssuedKubeconfig>>;
  /** When the last request of a user failed (RFC 3339); cleared by a success. */
  readonly failedAt: Readonly<Record<string, string>>;
}

const answered = (state: Kubeconfigs, requestId: string): Kubeconfigs => ({
  ...state,
  open: without(state.open, requestId),
});

const begun = ({
  data: { uid, endpoint, caCertHash, published },
}: StoredEvent<'ControlPlaneInitialized'>): Kubeconfigs => ({
  uid,
  server: endpoint,
  caCertHash,
  ...(published === undefined ? {} : { published }),
  open: {},
  sealed: {},
  failedAt: {},
});

/** The kubeconfigs of a cluster after an event; undefined: the cluster cannot sign any, not yet or no longer. */
export const kubeconfigsAfter = (state: Kubeconfigs | undefined, event: StoredEvent): Kubeconfigs | undefined => {
  if (event.type === 'ControlPlaneInitialized') return begun(event);
  if (state === undefined || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeletionRequested':
      return undefined;
    case 'KubeconfigRequested': {
      const { requestId, user, ttlSeconds } = event.data;
      const request = { user, ttlSeconds, requestedAt: event.meta.time, seq: event.meta.seq };
      return { ...state, open: { ...state.open, [requestId]: request } };
    }
    case 'KubeconfigIssued': {
      const { requestId, user, kubeconfigRef: ref, expiresAt } = event.data;
      const { failedAt, sealed, ...rest } = answered(state, requestId);
      const issued = { user, ref, expiresAt, seq: event.meta.seq };
      return { ...rest, failedAt: without(failedAt, user), sealed: { ...sealed, [requestId]: issued } };
    }
    case 'KubeconfigNotIssued': {
      const { requestId, user } = event.data;
      const rest = answered(state, requestId);
      return { ...rest, failedAt: { ...rest.failedAt, [user]: event.meta.time } };
    }
    case 'KubeconfigRemoved':
      return { ...state, sealed: without(state.sealed, event.data.requestId) };
    default:
      return state;
  }
};

/** The user's latest sealed kubeconfig. */
export const latestOf = ({ sealed }: Kubeconfigs, user: KubernetesUser): IssuedKubeconfig | undefined =>
  Object.values(sealed)
    .filter((one) => one.user === user)
    .toSorted((one, other) => other.seq - one.seq)[0];
