import * as z from 'zod';
import {
  CNIS,
  CNIS_OF,
  ETCDS,
  LOAD_BALANCERS,
  OnCreationFailure,
  OnFailure,
  RootDiskText,
  SERVICE_TYPES,
  type ServiceType,
} from './cluster-spec.js';
import { PROVIDERS } from './connection-settings.js';
import { EXEC_LIMITS, LOG_LINES, LogUnit } from './exec.limits.js';
import { HOOK_POINTS } from './hook.points.js';
import {
  CLUSTER_NAME_LENGTH_MAX,
  ClusterName,
  ConnectionName,
  Namespace,
  NodeName,
  PoolName,
  SHARED_WITH_ALL,
} from './ids.js';
import { HostId } from './joins/join.tokens.js';
import { KUBECONFIG_TTL_SECONDS } from './kubeconfig.limits.js';
import { limitedRecord } from './limited.record.js';
import { ACTION_EXPIRES_SECONDS, DRAIN_TIMEOUT_SECONDS, NodeActionKind } from './node-actions.js';
import { PowerAction } from './host-power.js';
import { HostKey } from './own-hosts.js';
import { Quota, QuotaChange } from './quota.js';
import { ReplacementOrder } from './replacement-orders.js';
import { DEFAULT_KUBERNETES_VERSION } from './software.js';
import { TEXT_LENGTH_MAX, TIME_LENGTH_MAX } from './text.limits.js';
import { ZonedTime } from './time.js';
import { PROVIDER_ID_MAX } from './watch.js';

/**
 * Bodies and queries of the REST API. The field names and defaults are CB-Ladybug's. These schemas define the shape of
 * the JSON. Where CB-Ladybug has a rule with its own text (an empty name, an unknown CNI), the schema accepts the value
 * and documents the rule, and the gateway's rules refuse it with its code.
 */

/** Maximum node sets per request. */
export const NODE_SETS_MAX = 50;

const text = z.string().max(TEXT_LENGTH_MAX);
/** The actual maximum of machines is a rule of the gateway. */
const COUNT_MAX = 1_000_000;

export const CLUSTER_DEFAULTS = {
  serviceType: 'single',
  podCidr: '10.244.0.0/16',
  serviceCidr: '10.96.0.0/12',
  serviceDnsDomain: 'cluster.local',
  loadbalancer: 'haproxy',
  etcd: 'local',
  installMonAgent: 'no',
  rootDisk: 'default',
  cniOf: { multi: 'kilo', single: 'flannel' },
} as const;

/** The service type of a new cluster that names none: multi if only multi supports its network, else the default. */
export const serviceTypeWith = (cni: string | undefined): z.infer<typeof ServiceType> =>
  CNIS_OF.multi.some((one) => one === cni) ? 'multi' : CLUSTER_DEFAULTS.serviceType;

export const NodeSetRequest = z
  .strictObject({
    connection: text.optional().describe('Name of a registered connection'),
    count: z.int().min(-COUNT_MAX).max(COUNT_MAX).optional().describe('How many machines').meta({ minimum: 1 }),
    spec: text.optional().describe("Machine size, by the provider's name for it"),
    rootDisk: z
      .strictObject({
        type: RootDiskText.type.optional().meta({ default: CLUSTER_DEFAULTS.rootDisk }),
        size: RootDiskText.size.optional().meta({ default: CLUSTER_DEFAULTS.rootDisk }),
      })
      .optional(),
    role: text.optional().describe('IAM role of the provider, for its cloud controller'),
  })
  .meta({ id: 'NodeSetRequest', description: 'Some machines of one kind', required: ['connection', 'count', 'spec'] });
export type NodeSetRequest = z.infer<typeof NodeSetRequest>;

/** The actual maximum of sets is a rule of the gateway; a request with many more is rejected unread. */
const nodeSets = z.array(NodeSetRequest).max(10 * NODE_SETS_MAX);

const KubernetesRequest = z.strictObject({
  version: text
    .optional()
    .describe('A known Kubernetes version, with or without the "v"; see GET /version')
    .meta({ default: DEFAULT_KUBERNETES_VERSION }),
  networkCni: text
    .optional()
    .describe(
      'calico, flannel or cilium for serviceType single (default flannel); canal or kilo for multi (default kilo)',
    )
    .meta({ enum: CNIS }),
  podCidr: text.optional().meta({ default: CLUSTER_DEFAULTS.podCidr }),
  serviceCidr: text.optional().meta({ default: CLUSTER_DEFAULTS.serviceCidr }),
  serviceDnsDomain: text.optional().meta({ default: CLUSTER_DEFAULTS.serviceDnsDomain }),
  storageclass: z
    .strictObject({
      nfs: z.strictObject({ server: text.optional(), path: text.optional() }).optional(),
    })
    .optional()
    .describe('An NFS storage class is installed when both server and path are given'),
  loadbalancer: text.optional().meta({ enum: LOAD_BALANCERS, default: CLUSTER_DEFAULTS.loadbalancer }),
  etcd: text.optional().meta({ enum: ETCDS, default: CLUSTER_DEFAULTS.etcd }),
});

export const ClusterRequest = z
  .strictObject({
    name: text
      .optional()
      .describe('A lowercase letter, then lowercase letters, digits and dashes; no dash at the end')
      .meta({ minLength: 1, maxLength: CLUSTER_NAME_LENGTH_MAX, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$' }),
    controlPlane: nodeSets
      .optional()
      .describe('Exactly one set; its count is 1, 3 or 5, or with an external etcd 3, 5 or 7'),
    worker: nodeSets.optional().describe('At least one set, unless singleNode'),
    serviceType: text
      .optional()
      .describe(
        'single: all nodes on one connection; multi: they may be on several. Left out: single, or multi with a networkCni of multi',
      )
      .meta({ enum: SERVICE_TYPES, default: CLUSTER_DEFAULTS.serviceType }),
    singleNode: z
      .boolean()
      .optional()
      .describe('One control plane that also runs workloads, no workers')
      .meta({ default: false }),
    config: z
      .strictObject({
        installMonAgent: text.optional().meta({ enum: ['yes', 'no'], default: CLUSTER_DEFAULTS.installMonAgent }),
        kubernetes: KubernetesRequest.optional(),
      })
      .optional(),
    label: text.optional(),
    description: text.optional(),
    onFailure: OnCreationFailure.optional()
      .describe(
        'If the creation fails for good. keep: everything stays for a retry; cleanup: everything that was created is deleted, as by a deletion. A cluster that was Ready once is not concerned',
      )
      .meta({ default: 'keep' }),
  })
  .meta({
    id: 'ClusterRequest',
    description: 'The specification of a cluster',
    required: ['name', 'controlPlane'],
    examples: [
      {
        name: 'demo',
        controlPlane: [{ connection: 'lab', count: 3, spec: 'lab.medium' }],
        worker: [{ connection: 'lab', count: 2, spec: 'lab.small' }],
      },
    ],
  });
export type ClusterRequest = z.infer<typeof ClusterRequest>;

export const NodesRequest = z
  .strictObject({
    controlPlane: nodeSets.optional().describe('Must be empty: control planes are added in the manifest'),
    worker: nodeSets.optional().describe('At least one set'),
    onFailure: OnFailure.optional()
      .describe('What becomes of the new machines if the request fails: deleted, or kept for a retry')
      .meta({ default: 'rollback' }),
  })
  .meta({ id: 'NodesRequest', description: 'More workers for a cluster', required: ['worker'] });
export type NodesRequest = z.infer<typeof NodesRequest>;

export const NamespaceRequest = z
  .strictObject({ name: text, description: text.default('') })
  .meta({ id: 'NamespaceRequest', description: 'A namespace holds clusters, and roles are granted in it' });
export type NamespaceRequest = z.infer<typeof NamespaceRequest>;

export const NodeReplacement = z
  .strictObject({
    order: ReplacementOrder.default('create-first').describe(
      'create-first: the node leaves once the new one is Ready, and stays if that fails. remove-first: it is drained and removed first, also if its host is dead; needs no room for both',
    ),
    reason: text.default('').describe('Why it is replaced; shown in the history'),
  })
  .meta({ id: 'NodeReplacement', description: 'How a node is replaced' });
export type NodeReplacement = z.infer<typeof NodeReplacement>;

export const RemovalCancellation = z
  .strictObject({ reason: text.default('').describe('Why it stays; shown in the history') })
  .meta({ id: 'RemovalCancellation', description: 'Why a node that is being removed stays' });
export type RemovalCancellation = z.infer<typeof RemovalCancellation>;

const SELECTED_MAX = 500;
const LABELS_MAX = 64;
const labelText = z.string().max(316);

/** Selects nodes by name, or by what they have in common. */
export const NodeSelection = z
  .strictObject({
    nodes: z.array(text).max(SELECTED_MAX).default([]).describe('By their names'),
    pools: z.array(text).max(SELECTED_MAX).default([]).describe('Those of these pools; control-plane: control planes'),
    labels: limitedRecord(labelText, labelText, LABELS_MAX)
      .default({})
      .describe('Those with all of these labels, of the labels that Fairlead sets'),
    all: z.boolean().default(false).describe('All nodes of the cluster'),
  })
  .meta({ id: 'NodeSelection', description: 'Names, or pools and labels that a node must have all of, or all nodes' });
export type NodeSelection = z.infer<typeof NodeSelection>;

export const NodeActionRequest = z
  .strictObject({
    action: NodeActionKind.describe(
      'reboot: drained, rebooted once, and Ready again; drain: cordoned and drained; cordon: marked as unschedulable; uncordon: ends a cordon of Fairlead; repair: drained, and as desired again',
    ),
    select: NodeSelection,
    reason: text.default('').describe('Why; shown in the history'),
    drain: z.boolean().default(true).describe('Of a reboot or a repair: whether the node is drained before'),
    drainTimeoutSeconds: z
      .int()
      .min(0)
      .max(DRAIN_TIMEOUT_SECONDS.max)
      .default(DRAIN_TIMEOUT_SECONDS.default)
      .describe('How long the pods of a node may take to leave; 0: as long as it takes'),
    maxUnavailable: z
      .int()
      .min(1)
      .max(SELECTED_MAX)
      .default(1)
      .describe('How many workers at a time; control planes go one at a time'),
    expiresInSeconds: z
      .int()
      .min(ACTION_EXPIRES_SECONDS.min)
      .max(ACTION_EXPIRES_SECONDS.max)
      .default(ACTION_EXPIRES_SECONDS.default)
      .describe('Nodes that could not begin by then are left as they are'),
  })
  .meta({
    id: 'NodeActionRequest',
    description: 'What nodes are asked to do',
    examples: [{ action: 'reboot', select: { pools: ['web'] }, reason: 'a new kernel' }],
  });
export type NodeActionRequest = z.infer<typeof NodeActionRequest>;

export const HookSkipRequest = z
  .strictObject({
    point: z.enum(HOOK_POINTS).optional().describe('Left out: at every point at which it holds something'),
    node: NodeName.optional().describe('Left out: whatever node it is about'),
    reason: text.min(1).describe('Why; shown in the history'),
  })
  .meta({ id: 'HookSkipRequest', description: 'What a hook holds is let go without its consent' });
export type HookSkipRequest = z.infer<typeof HookSkipRequest>;

export const NodeReplacementsRequest = z
  .strictObject({
    select: NodeSelection,
    reason: text.default('').describe('Why they are replaced; shown in the history'),
  })
  .meta({
    id: 'NodeReplacementsRequest',
    description: 'Which nodes are replaced',
    examples: [{ select: { pools: ['web'] }, reason: 'a batch of bad disks' }],
  });
export type NodeReplacementsRequest = z.infer<typeof NodeReplacementsRequest>;

export const OperationCancellation = z
  .strictObject({ reason: text.default('').describe('Why; shown in the history') })
  .meta({ id: 'OperationCancellation' });
export type OperationCancellation = z.infer<typeof OperationCancellation>;

const word = z
  .string()
  .max(EXEC_LIMITS.bytes)
  .refine((text) => !text.includes('\0'), 'must not contain a NUL');

export const NodeExecRequest = z
  .strictObject({
    command: z
      .array(word)
      .min(1)
      .max(EXEC_LIMITS.words)
      .describe('Program and arguments; no shell reads them. They are recorded: no secrets'),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(EXEC_LIMITS.timeoutSeconds.max)
      .default(EXEC_LIMITS.timeoutSeconds.default)
      .describe('After this time the command is ended, with exit code 124'),
  })
  .meta({
    id: 'NodeExecRequest',
    description: 'A command for a node',
    examples: [{ command: ['systemctl', 'status', 'kubelet'] }],
  });
export type NodeExecRequest = z.infer<typeof NodeExecRequest>;

export const NodeExecPath = z.object({
  namespace: Namespace,
  cluster: ClusterName,
  node: NodeName,
  execution: z.string().min(1).max(63),
});
export type NodeExecPath = z.infer<typeof NodeExecPath>;

const SECRET_LENGTH_MAX = 64 * 1024;
/** Maximum private keys per connection. */
const KEYS_MAX = 1_000;
const secret = z.string().min(1).max(SECRET_LENGTH_MAX).optional();

export const ConnectionRequest = z
  .strictObject({
    provider: z.string().min(1).max(63).describe(PROVIDERS.join(', ')),
    region: text.default(''),
    zone: text.default(''),
    settings: z
      .looseObject({
        token: secret.describe('Write-only: sealed, and never returned').meta({ writeOnly: true }),
        secret: secret.describe('The same as token, for what is a key rather than a token').meta({ writeOnly: true }),
        keys: limitedRecord(
          z
            .string()
            .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'must be a name of letters, digits, dashes and underscores'),
          z.string().min(1).max(SECRET_LENGTH_MAX),
          KEYS_MAX,
        )
          .optional()
          .describe(
            'Further private keys by name, sealed as well; keyRef names one as gateway.connection.<connection>.<name>',
          )
          .meta({ writeOnly: true }),
      })
      .default({})
      .describe(
        "The provider's own settings; unknown ones are refused, as are credentials in URLs. token or secret left out: the one there is stays",
      ),
    namespaces: z
      .array(z.union([z.literal(SHARED_WITH_ALL), Namespace]))
      .max(1_000)
      .optional()
      .describe(
        'Whose clusters may use it; "*" for those of all. Left out: the grant stays, and a new connection is granted to the namespace default alone',
      ),
    quota: Quota.optional().describe('The most that all clusters may take of it together; left out: it stays'),
    moved: z
      .boolean()
      .default(false)
      .describe('While clusters use it: its machines are the same ones, and are found at the new endpoint'),
  })
  .meta({ id: 'ConnectionRequest', description: 'How a provider is reached' });
export type ConnectionRequest = z.infer<typeof ConnectionRequest>;

export const ConnectionChange = z
  .strictObject({
    namespaces: ConnectionRequest.shape.namespaces,
    quota: QuotaChange.optional(),
  })
  .meta({
    id: 'ConnectionChange',
    description: 'Whose clusters may use a connection, and how much; what is absent stays',
  });
export type ConnectionChange = z.infer<typeof ConnectionChange>;

export const API_ROLES = ['viewer', 'operator', 'admin'] as const;
export const ApiRole = z
  .enum(API_ROLES)
  .describe(
    'viewer reads; operator also changes clusters; admin of a namespace also manages its tokens; admin of all namespaces manages everything',
  );
export type ApiRole = z.infer<typeof ApiRole>;

/** In a role: stands for every namespace, and for what belongs to none. */
export const EVERY_NAMESPACE = '*';

export const RoleGrant = z
  .strictObject({ namespace: z.union([z.literal(EVERY_NAMESPACE), Namespace]), role: ApiRole })
  .meta({ id: 'RoleGrant', description: 'A role in one namespace, or with "*" in all' });
export type RoleGrant = z.infer<typeof RoleGrant>;

/** Control characters, bidirectional marks and other invisible ones, which could make one name look like another. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u;

const tokenName = z
  .string()
  .min(1)
  .max(63)
  .refine((name) => !INVISIBLE.test(name), 'must not contain control characters or invisible ones')
  .refine((name) => name.trim() === name, 'must not begin or end with a space')
  .describe('Who or what uses the token. Events name their actor user/<name>#<id of the token>');

/** Maximum lifetime of an API token. */
export const TOKEN_LIFETIME_MAX_DAYS = 3_650;

export const TokenRequest = z
  .strictObject({
    name: tokenName,
    roles: z.array(RoleGrant).min(1).max(100),
    expiresAt: z.iso
      .datetime()
      .max(TIME_LENGTH_MAX)
      .optional()
      .describe(
        `When the token ends, UTC: later than now, at most ${TOKEN_LIFETIME_MAX_DAYS} days. Absent: it does not end by itself. A token that ends makes only tokens that end no later`,
      ),
  })
  .meta({ id: 'TokenRequest', description: 'An API token to be made' });
export type TokenRequest = z.infer<typeof TokenRequest>;

/** Longer than any token or code. */
const CREDENTIAL_LENGTH_MAX = 200;
const credential = z.string().min(1).max(CREDENTIAL_LENGTH_MAX);

export const SignInRequest = z
  .union([
    z.strictObject({ code: credential.describe('A one-time code, from its link') }),
    z.strictObject({ token: credential.describe('An API token') }),
  ])
  .meta({ id: 'SignInRequest', description: 'What begins a session of the page' });
export type SignInRequest = z.infer<typeof SignInRequest>;

export const QUARANTINE_RELEASE_MODES = ['retry', 'skip', 'replay'] as const;
export const QuarantineReleaseRequest = z
  .strictObject({
    service: z.string().min(1).max(63),
    consumer: z.string().min(1).max(200),
    namespace: text,
    cluster: text,
    mode: z
      .enum(QUARANTINE_RELEASE_MODES)
      .describe(
        'retry: take the event again; skip: go on after it; replay: rebuild the state of the cluster from the log',
      ),
  })
  .meta({ id: 'QuarantineReleaseRequest', description: 'Releases a quarantined cluster' });
export type QuarantineReleaseRequest = z.infer<typeof QuarantineReleaseRequest>;

/** Path parameters. A value that cannot be a name matches nothing: the response is 404. */
export const NamespacePath = z.object({ namespace: Namespace });
export type NamespacePath = z.infer<typeof NamespacePath>;
export const ClusterPath = z.object({ namespace: Namespace, cluster: ClusterName });
export type ClusterPath = z.infer<typeof ClusterPath>;
export const NodePath = z.object({ namespace: Namespace, cluster: ClusterName, node: NodeName });
export type NodePath = z.infer<typeof NodePath>;
export const HostPath = z.object({ namespace: Namespace, cluster: ClusterName, host: HostId });
export type HostPath = z.infer<typeof HostPath>;
export const HookPath = z.object({ namespace: Namespace, cluster: ClusterName, hook: PoolName });
export type HookPath = z.infer<typeof HookPath>;
export const OperationPath = z.object({
  namespace: Namespace,
  cluster: ClusterName,
  operation: z.string().min(1).max(63),
});
export type OperationPath = z.infer<typeof OperationPath>;
export const ConnectionPath = z.object({ connection: ConnectionName });
export type ConnectionPath = z.infer<typeof ConnectionPath>;
/** Accepts the new host key of an inventory host. */
export const HostKeyAcceptance = z
  .strictObject({
    host: NodeName.nullable().describe('Its name in the inventory; null: the jump host'),
    hostKey: HostKey.describe('The fingerprint that ssh-keygen -lf prints on the host itself'),
  })
  .meta({ id: 'HostKeyAcceptance' });
export type HostKeyAcceptance = z.infer<typeof HostKeyAcceptance>;
/** Accepts an inventory host in its current state. */
export const HostAcceptance = z
  .strictObject({ host: NodeName.describe('Its name in the inventory') })
  .meta({ id: 'HostAcceptance' });
export type HostAcceptance = z.infer<typeof HostAcceptance>;
export const HostPowerPath = z.object({ connection: ConnectionName, host: NodeName });
export type HostPowerPath = z.infer<typeof HostPowerPath>;
/** Switches the power of an inventory host, or asks for it. */
export const HostPowerRequest = z
  .strictObject({ action: PowerAction.describe('cycle: off, then on; status: only asks') })
  .meta({ id: 'HostPowerRequest' });
export type HostPowerRequest = z.infer<typeof HostPowerRequest>;
/** A machine that no cluster planned, by the provider's id. */
export const OrphanPath = z.object({ connection: ConnectionName, orphan: z.string().min(1).max(PROVIDER_ID_MAX) });
export type OrphanPath = z.infer<typeof OrphanPath>;
/** The pool that an orphaned machine joins as a node. */
export const OrphanAdoption = z
  .strictObject({
    namespace: Namespace,
    cluster: ClusterName,
    pool: PoolName.describe('A pool of workers; it grows by one'),
  })
  .meta({ id: 'OrphanAdoption', description: 'Where an orphaned machine becomes a node' });
export type OrphanAdoption = z.infer<typeof OrphanAdoption>;
/** Rotates the SSH key of a connection. */
export const SshKeyRotationRequest = z
  .strictObject({
    force: z
      .boolean()
      .optional()
      .describe('End the rotation that is under way: the former key is destroyed although hosts still need it'),
  })
  .meta({ id: 'SshKeyRotationRequest' });
export type SshKeyRotationRequest = z.infer<typeof SshKeyRotationRequest>;
export const TokenPath = z.object({ token: z.string().min(1).max(63) });
export type TokenPath = z.infer<typeof TokenPath>;

/** Maximum page size of a list of events. */
export const EVENTS_LIMIT_MAX = 5_000;

/** Number() accepts more than digits: an empty text is 0 to it. */
const digitsOnly = (given: unknown): unknown =>
  typeof given === 'string' && !/^\d{1,16}$/.test(given) ? Number.NaN : given;

const wholeNumber = z.coerce.number().int();
const sequenceNumber = wholeNumber.min(0).max(Number.MAX_SAFE_INTEGER);
const sequence = z.preprocess(digitsOnly, sequenceNumber);
const sequenceOr0 = z.preprocess(digitsOnly, sequenceNumber.default(0));

export const NodeLogsQuery = z.strictObject({
  unit: LogUnit.default('kubelet').describe('Which log'),
  lines: z
    .preprocess(digitsOnly, wholeNumber.min(1).max(LOG_LINES.max).default(LOG_LINES.default))
    .describe('The last so many lines'),
  sinceSeconds: z
    .preprocess(digitsOnly, wholeNumber.min(1).max(31 * 86_400))
    .optional()
    .describe('Only what was logged within this time'),
});
export type NodeLogsQuery = z.infer<typeof NodeLogsQuery>;

/** Read your writes: the response reflects everything up to this sequence of the log. */
export const ReadQuery = z.strictObject({
  minSeq: sequence
    .optional()
    .describe('Show at least what was in the log at this sequence (X-Fairlead-Seq of a command)'),
});
export type ReadQuery = z.infer<typeof ReadQuery>;

/** A point in the log: a sequence, or a time. */
const moment = z.preprocess(
  (given: unknown) => (typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : given),
  z.union([z.int().min(1).max(Number.MAX_SAFE_INTEGER), ZonedTime], {
    error: 'must be a sequence of the log, or a time such as 2026-11-21T08:00:00Z',
  }),
);

export const ClusterQuery = ReadQuery.extend({
  at: moment
    .optional()
    .describe('Show it as it was at this sequence of the log, or at this time (RFC 3339), folded from its events'),
});
export type ClusterQuery = z.infer<typeof ClusterQuery>;

export const ChangesQuery = z.strictObject({
  from: moment.describe('A sequence of the log, or a time (RFC 3339)'),
  to: moment.optional().describe('A sequence of the log, or a time (RFC 3339); left out: now'),
});
export type ChangesQuery = z.infer<typeof ChangesQuery>;

/** Items on a page of a list. */
export const LIST_LIMIT = { default: 500, max: 1_000 };

export const ListQuery = ReadQuery.extend({
  limit: z
    .preprocess(digitsOnly, wholeNumber.min(1).max(LIST_LIMIT.max))
    .optional()
    .describe(`Most items in the answer; ${LIST_LIMIT.default} unless given`),
  continue: z.string().min(1).max(1_024).optional().describe('metadata.continue of the page before'),
});
export type ListQuery = z.infer<typeof ListQuery>;

export const PastListQuery = ListQuery.extend({
  at: moment
    .optional()
    .describe('Show them as they were at this sequence of the log, or at this time (RFC 3339), folded from events'),
});
export type PastListQuery = z.infer<typeof PastListQuery>;

export const FLEET_SORTS = ['name', 'state', 'since', 'version', 'nodes', 'deadline'] as const;
const FILTER_LENGTH_MAX = 200;

export const FleetQuery = ListQuery.extend({
  at: moment
    .optional()
    .describe('As it was at this sequence of the log, or at this time (RFC 3339), folded from events'),
  namespace: z.string().max(FILTER_LENGTH_MAX).optional().describe('Only clusters of this namespace'),
  state: z.string().max(FILTER_LENGTH_MAX).optional().describe('Only clusters in these states, separated by commas'),
  search: z
    .string()
    .max(FILTER_LENGTH_MAX)
    .optional()
    .describe('Only clusters whose name, namespace, version or reason contains this text'),
  sort: z.enum(FLEET_SORTS).default('name').describe('state: those that need attention first'),
  order: z.enum(['ascending', 'descending']).default('ascending'),
});
export type FleetQuery = z.infer<typeof FleetQuery>;

export const ActivityQuery = z.strictObject({
  from: ZonedTime.optional().describe('Left out: from the first event'),
  to: ZonedTime.optional().describe('Left out: now'),
  namespace: z.string().max(FILTER_LENGTH_MAX).optional().describe('Only events of clusters of this namespace'),
  cluster: z.string().max(FILTER_LENGTH_MAX).optional().describe('Only events of clusters of this name'),
});
export type ActivityQuery = z.infer<typeof ActivityQuery>;

/** `tier=web,zone=a`: all must match, like an equality-based labelSelector in Kubernetes. */
const LABEL_SELECTOR = /^[^=,\s]+=[^=,\s]*(?:,[^=,\s]+=[^=,\s]*)*$/;

export const NodesQuery = ListQuery.extend({
  pool: text
    .optional()
    .describe('Only nodes of these pools, separated by commas; control-plane: control planes. Left out: of all pools'),
  labelSelector: text
    .regex(LABEL_SELECTOR, 'must be labels such as tier=web,zone=a')
    .optional()
    .describe('Only nodes with all of these labels, of those that Fairlead sets: tier=web,zone=a'),
});
export type NodesQuery = z.infer<typeof NodesQuery>;

export const TokensQuery = ListQuery.omit({ minSeq: true });
export type TokensQuery = z.infer<typeof TokensQuery>;

export const KubeconfigQuery = ReadQuery.extend({
  ttlSeconds: z
    .preprocess(
      digitsOnly,
      wholeNumber
        .min(KUBECONFIG_TTL_SECONDS.min)
        .max(KUBECONFIG_TTL_SECONDS.max)
        .default(KUBECONFIG_TTL_SECONDS.default),
    )
    .describe('How long the client certificate is valid, in seconds: 10 minutes to 24 hours'),
});
export type KubeconfigQuery = z.infer<typeof KubeconfigQuery>;

export const EventsQuery = z.strictObject({
  after: sequenceOr0.describe('Only events after this sequence'),
  limit: z.preprocess(digitsOnly, wholeNumber.min(1).max(EVENTS_LIMIT_MAX).default(500)),
  type: z.string().max(TEXT_LENGTH_MAX).optional().describe('Event types, separated by commas'),
});
export type EventsQuery = z.infer<typeof EventsQuery>;

export const AuditQuery = z.strictObject({
  after: sequenceOr0.describe('Only what came after this sequence; `next` of the page before'),
  limit: z.preprocess(digitsOnly, wholeNumber.min(1).max(EVENTS_LIMIT_MAX).default(500)),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const EventStreamQuery = z.strictObject({
  after: sequenceOr0.describe('Start after this sequence; the header Last-Event-ID takes precedence'),
  type: z.string().max(TEXT_LENGTH_MAX).optional().describe('Event types, separated by commas'),
});
export type EventStreamQuery = z.infer<typeof EventStreamQuery>;

/** CB-Ladybug's query of the spec list. The gateway's rules check numbers, because they name the parameter. */
export const SpecsQuery = z.strictObject({
  'control-plane': z.enum(['Y', 'N']).default('N').describe('Y: only specs that a control plane may have'),
  'cpu-min': text.optional(),
  'cpu-max': text.optional(),
  'memory-min': text.optional().describe('GiB'),
  'memory-max': text.optional().describe('GiB'),
});
export type SpecsQuery = z.infer<typeof SpecsQuery>;
