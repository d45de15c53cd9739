import * as z from 'zod';

/** A DNS label (RFC 1123), as Kubernetes accepts for names: at most 63 characters. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_WORDS = 'must be lowercase letters, digits and dashes, with a letter or digit at each end (RFC 1123)';

/** CB-Ladybug's rule for a cluster's name: a DNS label that starts with a letter. */
export const CLUSTER_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const CLUSTER_NAME_WORDS =
  'must be lowercase letters, digits and dashes, beginning with a letter and not ending with a dash';

/** That of a DNS label: the name is a label of the API's published name, and the value of labels. */
export const CLUSTER_NAME_LENGTH_MAX = 63;

export const Namespace = z.string().min(1).max(63).regex(DNS_LABEL, DNS_LABEL_WORDS).brand<'Namespace'>();
export type Namespace = z.infer<typeof Namespace>;

export const ClusterName = z
  .string()
  .min(1)
  .max(CLUSTER_NAME_LENGTH_MAX)
  .regex(CLUSTER_NAME, CLUSTER_NAME_WORDS)
  .brand<'ClusterName'>();
export type ClusterName = z.infer<typeof ClusterName>;

/** One incarnation of a cluster: after a deletion the name may be reused, the uid never is. */
export const ClusterUid = z.uuid().brand<'ClusterUid'>();
export type ClusterUid = z.infer<typeof ClusterUid>;

export const NodeName = z.string().min(1).max(63).regex(DNS_LABEL, DNS_LABEL_WORDS).brand<'NodeName'>();
export type NodeName = z.infer<typeof NodeName>;

/** The public key of a NATS user, which identifies a credential on the server. Not a secret. */
export const NatsUserKey = z.string().regex(/^U[A-Z2-7]{55}$/);
export type NatsUserKey = z.infer<typeof NatsUserKey>;

/** A pool of workers; also the label `fairlead.dev/pool` of its machines. */
export const PoolName = z.string().min(1).max(63).regex(DNS_LABEL, DNS_LABEL_WORDS);
export type PoolName = z.infer<typeof PoolName>;

export const ConnectionName = z.string().min(1).max(63).regex(DNS_LABEL, DNS_LABEL_WORDS).brand<'ConnectionName'>();
export type ConnectionName = z.infer<typeof ConnectionName>;

/** An identity realm of a namespace. */
export const RealmName = z.string().min(1).max(63).regex(DNS_LABEL, DNS_LABEL_WORDS).brand<'RealmName'>();
export type RealmName = z.infer<typeof RealmName>;

/** An application of the catalogue. */
export const ApplicationName = z.string().min(1).max(63).regex(DNS_LABEL, DNS_LABEL_WORDS).brand<'ApplicationName'>();
export type ApplicationName = z.infer<typeof ApplicationName>;

/** `u-` and a short random suffix; unique within a cluster's history. */
export const UpgradeId = z
  .string()
  .regex(/^u-[0-9a-z]{6,32}$/)
  .brand<'UpgradeId'>();
export type UpgradeId = z.infer<typeof UpgradeId>;

/** Refers to a sealed value; the value itself never enters an event, a log line or a response. */
export const SecretRef = z
  .string()
  .regex(/^[a-z0-9-]+(\.[A-Za-z0-9_-]+)+$/, 'must be the reference of a secret, such as infra-svc.key')
  .brand<'SecretRef'>();
export type SecretRef = z.infer<typeof SecretRef>;

/** Stands for "no cluster" (or "no namespace") in subjects of facts about namespaces and connections. */
export const NONE = '_';

/** Stands for every namespace in a connection's grant. */
export const SHARED_WITH_ALL = '*';
