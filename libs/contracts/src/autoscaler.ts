import * as z from 'zod';
import type { AutoscalerCredentialId } from './autoscaler.credential.js';
import type { StoredEvent } from './envelope.js';
import { ClusterName, Namespace, type ClusterUid } from './ids.js';
import { paged } from './views/list.views.js';
import { time } from './views/time.js';

/** How long a client certificate is valid, in days. */
export const AUTOSCALER_TTL_DAYS = { min: 1, max: 3_650, default: 365 } as const;

/** Maximum number of valid certificates per cluster: enough to replace each of a few autoscalers. */
export const AUTOSCALER_CREDENTIALS_MAX = 10;

/** A request with an 8192-bit RSA key is about 3 KiB. */
const CSR_LENGTH_MAX = 8_192;

export const AutoscalerCredentialRequest = z
  .strictObject({
    csr: z
      .string()
      .max(CSR_LENGTH_MAX)
      .describe(
        'PKCS#10, PEM: the key stays where it was made. Its names are not used; ECDSA (P-256, P-384) or RSA (from 2048 bit)',
      ),
    ttlDays: z
      .int()
      .min(AUTOSCALER_TTL_DAYS.min)
      .max(AUTOSCALER_TTL_DAYS.max)
      .optional()
      .describe(`How long the certificate is valid; absent: ${AUTOSCALER_TTL_DAYS.default} days`),
  })
  .meta({ id: 'AutoscalerCredentialRequest', description: 'A client certificate to be signed for an autoscaler' });
export type AutoscalerCredentialRequest = z.infer<typeof AutoscalerCredentialRequest>;

export const AutoscalerCredentialPath = z.object({
  namespace: Namespace,
  cluster: ClusterName,
  credential: z.string().min(1).max(63),
});
export type AutoscalerCredentialPath = z.infer<typeof AutoscalerCredentialPath>;

const credentialFields = {
  id: z.string(),
  kind: z.literal('AutoscalerCredential'),
  keySha256: z.string().describe('SHA-256 of the public key'),
  createdTime: time,
  expiresAt: time,
};

export const AutoscalerCredentialView = z
  .strictObject(credentialFields)
  .meta({ id: 'AutoscalerCredential', description: 'The client certificate of an autoscaler' });
export type AutoscalerCredentialView = z.infer<typeof AutoscalerCredentialView>;

export const AutoscalerCredentialList = z
  .strictObject({ kind: z.literal('AutoscalerCredentialList'), items: z.array(AutoscalerCredentialView), ...paged })
  .meta({ id: 'AutoscalerCredentialList' });
export type AutoscalerCredentialList = z.infer<typeof AutoscalerCredentialList>;

export const SignedAutoscalerCredentialView = z
  .strictObject({
    ...credentialFields,
    certificate: z.string().describe('The signed client certificate, PEM'),
    caCertificate: z.string().describe('The authority of the server, PEM'),
    address: z.string().describe('Where the autoscaler finds the server: <host>:<port>'),
  })
  .meta({ id: 'SignedAutoscalerCredential' });
export type SignedAutoscalerCredentialView = z.infer<typeof SignedAutoscalerCredentialView>;

export interface AutoscalerCredential {
  readonly id: AutoscalerCredentialId;
  readonly keySha256: string;
  /** RFC 3339. */
  readonly issuedAt: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** Credentials of a cluster's autoscalers that were not revoked; undefined if the cluster does not exist. */
export interface AutoscalerCredentials {
  readonly uid: ClusterUid;
  readonly credentials: readonly AutoscalerCredential[];
}

/** The credentials that are valid at that time. */
export const validCredentials = (
  { credentials }: AutoscalerCredentials,
  now: string,
): readonly AutoscalerCredential[] => credentials.filter(({ expiresAt }) => Date.parse(expiresAt) > Date.parse(now));

/** Credentials after an event. Those of an earlier cluster of the same name are invalid. */
export const autoscalerCredentialsAfter = (
  state: AutoscalerCredentials | undefined,
  event: StoredEvent,
): AutoscalerCredentials | undefined => {
  if (event.type === 'ClusterRequested') return { uid: event.data.uid, credentials: [] };
  if (state === undefined || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeleted':
      return undefined;
    case 'AutoscalerCredentialIssued': {
      const { id, keySha256, expiresAt } = event.data;
      const issued = { id, keySha256, issuedAt: event.meta.time, expiresAt };
      const others = validCredentials(state, event.meta.time).filter((one) => one.id !== id);
      return { ...state, credentials: [...others, issued] };
    }
    case 'AutoscalerCredentialRevoked': {
      const revoked = event.data.id;
      return { ...state, credentials: state.credentials.filter(({ id }) => id !== revoked) };
    }
    default:
      return state;
  }
};
