import * as z from 'zod';
import { ClaimName, IssuerAuthorities, IssuerUrl } from './authentication.js';
import { ClusterUid, type SecretRef } from './ids.js';

/** The program that clusters connect to so that their names can be reached. It states no facts and has no database. */
export const TUNNEL = 'tunnel';

/** Which key may hold which name; infra-svc alone writes it. The log is the truth: what is missing is written again. */
export const PUBLISHED_NAMES_BUCKET = 'PUBLISHED_NAMES';
/** Which names are held, and by which replica of the tunnel; each entry ends by itself unless it is repeated. */
export const HELD_NAMES_BUCKET = 'HELD_NAMES';

/** How often a tunnel repeats what it holds. */
export const HELD_NAME_BEAT_MS = 10_000;
/** Two beats may be lost. */
export const HELD_NAME_LIFETIME_MS = 30_000;

const DNS_NAME_LENGTH_MAX = 253;
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Lower case, two labels at least, no dot at its end. */
export const isDnsName = (text: string): boolean => {
  if (text.length > DNS_NAME_LENGTH_MAX) return false;
  const labels = text.split('.');
  return labels.length > 1 && labels.every((label) => LABEL.test(label));
};

export const DnsName = z.string().refine(isDnsName, 'is not a DNS name of at least two labels, in lower case');

/** `ssh-ed25519` and the key itself in base64: a public key of OpenSSH without a comment. */
export const Ed25519PublicKey = z.string().regex(/^ssh-ed25519 [A-Za-z0-9+/]{68}$/);

/** How users of a published service sign in. There is no secret in it. */
export const NameSignIn = z.strictObject({
  url: z.string().max(300).describe('Where browsers find it, without a path'),
  issuerUrl: IssuerUrl,
  ca: IssuerAuthorities.optional(),
  clientId: ClaimName,
  groupsClaim: ClaimName,
  groups: z.array(z.string().max(600)).min(1).max(16).describe('Whoever is in one of them may use it'),
});
export type NameSignIn = z.infer<typeof NameSignIn>;

/** With authorities of an issuer. */
export const NAME_RESERVATION_LENGTH_MAX = 65_536;

/** What is stored under a name that is reserved. */
export const NameReservation = z.strictObject({
  uid: ClusterUid,
  publicKey: Ed25519PublicKey,
  signIn: NameSignIn.optional().describe('Who may use it. Absent: TLS ends at the cluster'),
});
export type NameReservation = z.infer<typeof NameReservation>;

/** What is stored under a name that is held. */
export const HeldName = z.strictObject({
  replica: z.string().max(64),
  peer: z.string().max(300).optional().describe('Where other replicas reach those that this one holds, host:port'),
  sessions: z.int().min(1),
  since: z.iso.datetime(),
});
export type HeldName = z.infer<typeof HeldName>;

/** Where the API of a published cluster is reached. */
export const apiNameOf = (cluster: string, domain: string): string => `api.${cluster}.${domain}`;

/** Why the name of a cluster's API cannot be reserved. */
export const PUBLICATION_BLOCKS = ['NameTaken', 'NoDomain'] as const;
export type PublicationBlock = (typeof PUBLICATION_BLOCKS)[number];

/** Where the private half of a cluster's key is sealed, under the cluster's own key. */
export const tunnelKeyRef = (uid: ClusterUid): SecretRef => `infra-svc.tunnel.${uid}` as SecretRef;
