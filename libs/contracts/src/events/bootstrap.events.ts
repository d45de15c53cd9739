import * as z from 'zod';
import { Cni, OnFailure } from '../cluster-spec.js';
import { OUTSIDE_LEFT_MAX, OUTSIDE_NAME_MAX } from '../cluster.limits.js';
import { Cause } from '../failures.js';
import { AGENT_CREDENTIAL_LIFETIME_MAX_S, AGENT_CREDENTIALS_REVOKED_MAX } from '../agent.credentials.js';
import { HOOK_POINTS } from '../hook.points.js';
import { ClusterUid, NatsUserKey, NodeName, PoolName, SecretRef } from '../ids.js';
import { KubernetesUser } from '../kubeconfig.limits.js';
import { NodeMetadata } from '../manifest/pool.fields.js';
import { ReturnedPods } from './drain.events.js';
import { DnsName } from '../published.names.js';
import { HeldService, PUBLISHED_SERVICES_MAX } from '../published.services.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const node = NodeName;
const lifetimeSeconds = z.int().min(1).max(AGENT_CREDENTIAL_LIFETIME_MAX_S);

const authentication = z
  .int()
  .min(0)
  .describe('Counts what was declared of how users sign in, one after the other; 0: nothing was');

export const HOOK_MESSAGE_MAX = 1_000;

/** Which hook was called, and at which point. */
export const hookFields = {
  uid,
  hook: PoolName,
  point: z.enum(HOOK_POINTS),
  node: NodeName.optional().describe('Absent: it is about the cluster'),
  attempt: z.int().min(1),
};

/** How hosts become a cluster. Written by bootstrap-svc, the only service that declares a cluster ready or failed. */
export const bootstrapEvents = {
  HostReached: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The host answers over SSH, and its host key is pinned.',
    data: z.strictObject({ uid, node, hostKey: z.string(), attempts: z.int().min(1) }),
  }),
  AuthorizedKeyAdded: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The host accepts another SSH key of its connection, proved by a login; it is reached with this key from now on.',
    data: z.strictObject({
      uid,
      node,
      keyRef: SecretRef,
      former: z.strictObject({ keyRef: SecretRef, publicKey: z.string() }).describe('The key that it was reached with'),
    }),
  }),
  AuthorizedKeyRemoved: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The host refuses a former SSH key of its connection.',
    data: z.strictObject({ uid, node, keyRef: SecretRef.describe('The former key') }),
  }),
  AgentStarted: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The agent with this checksum runs on the host as a systemd unit and has its initial desired state.',
    data: z.strictObject({ uid, node, agentVersion: z.string(), sha256: z.string() }),
  }),
  AgentCredentialIssued: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The agent of the node may connect to NATS as this user; claims of the user end within the lifetime and can be renewed.',
    data: z.strictObject({ uid, node, user: NatsUserKey, lifetimeSeconds }),
  }),
  AgentCredentialsRevoked: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'NATS no longer accepts these users, whatever their claims: their nodes or cluster were removed, or newer users replaced them.',
    data: z.strictObject({
      uid,
      users: z.array(NatsUserKey).min(1).max(AGENT_CREDENTIALS_REVOKED_MAX),
      lifetimeSeconds: lifetimeSeconds.describe('No claims of these users last longer'),
    }),
  }),
  AgentUpdateRequested: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Every node of the cluster must run the agent with this checksum, which bootstrap-svc contains.',
    data: z.strictObject({ uid, agentVersion: z.string(), sha256: z.string() }),
  }),
  AgentUpdated: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The node runs the agent with this checksum, which has reported that it works; the previous one is no longer kept.',
    data: z.strictObject({ uid, node, agentVersion: z.string(), sha256: z.string() }),
  }),
  ClusterTakenOver: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Another installation of Fairlead holds the log from now on; it switches the agents of the cluster to its own NATS.',
    data: z.strictObject({
      uid,
      handover: z.uuid().describe('The handover'),
      epoch: z.int().min(2).describe('Of the installation that has taken over'),
    }),
  }),
  AgentTakenOver: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The agent of the node is connected to the NATS of the installation that has taken the cluster over.',
    data: z.strictObject({ uid, node }),
  }),
  NodeBootstrapped: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The host was verified to have what kubeadm needs.',
    data: z.strictObject({ uid, node }),
  }),
  ApiBalanced: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'haproxy on the control plane balances the API over these, and keepalived may hold the shared address there.',
    data: z.strictObject({ uid, node, controlPlanes: z.array(node).min(1) }),
  }),
  TunnelStarted: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The control plane connects to the tunnel and holds the name of the API there, and those of published services, now and after every restart.',
    data: z.strictObject({
      uid,
      node,
      name: DnsName,
      services: z.array(HeldService).max(PUBLISHED_SERVICES_MAX).optional().describe('Absent: none is published'),
    }),
  }),
  EtcdSnapshotPlaced: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The snapshot to restore is on the control plane, and its checksum matches.',
    data: z.strictObject({ uid, node, requestId: z.string(), snapshot: z.string(), sha256: z.string() }),
  }),
  EtcdSnapshotRemoved: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The snapshot of a failed restore was removed from the control plane.',
    data: z.strictObject({ uid, node, requestId: z.string() }),
  }),
  EtcdSnapshotVerified: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A snapshot of etcd was restored into a scratch etcd on a control plane, which answered with its content.',
    data: z.strictObject({
      uid,
      snapshot: z.string(),
      node: node.describe('The control plane on which the scratch etcd ran'),
      revision: z.int().describe('Of the scratch etcd'),
      keys: z.int().describe('Of all revisions, as when the snapshot was taken'),
      objects: z.int().min(1).describe('Keys of Kubernetes that the scratch etcd has'),
      hash: z.int().min(0).describe('Of the database, as etcdutl computes it'),
    }),
  }),
  EtcdSnapshotVerificationFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A snapshot of etcd was not verified.',
    data: z.strictObject({
      uid,
      snapshot: z.string(),
      invalid: z.boolean().describe('true: etcd cannot be restored from it; false: that could not be tried'),
      cause: Cause,
    }),
  }),
  EtcdReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The external etcd is running: every member runs beside its control plane, knows the others and is healthy.',
    data: z.strictObject({
      uid,
      version: z.string(),
      members: z.array(z.strictObject({ node, address: z.string() })).min(1),
      caRef: SecretRef,
    }),
  }),
  EtcdMemberAdded: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The external etcd has a new voting member, with all data, beside a control plane that joins now.',
    data: z.strictObject({
      uid,
      node,
      address: z.string(),
      members: z.int().min(1).describe('How many etcd has with it'),
    }),
  }),
  ControlPlaneInitialized: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'kubeadm init has run on the initial control plane; from now on the cluster must never be initialised again.',
    data: z.strictObject({
      uid,
      node,
      endpoint: z.string(),
      kubeconfigRef: SecretRef,
      caCertHash: z.string(),
      authentication: authentication.optional().describe('Absent: API servers of the cluster have no such file'),
      published: z
        .string()
        .optional()
        .describe('https://name:port by which clients reach it; absent: it is not published'),
    }),
  }),
  HookBlocked: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A hook asked for more time: the step after it waits, and the hook is called again.',
    data: z.strictObject({ ...hookFields, message: z.string().max(HOOK_MESSAGE_MAX), nextAttemptAt: z.iso.datetime() }),
  }),
  HookSucceeded: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A hook has answered with Success.',
    data: z.strictObject({ ...hookFields, message: z.string().max(HOOK_MESSAGE_MAX) }),
  }),
  HookFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A hook has failed or did not answer in time.',
    data: z.strictObject({
      ...hookFields,
      cause: Cause,
      nextAttemptAt: z.iso
        .datetime()
        .nullable()
        .describe('When it is asked again; null: it is ignored, or an after-hook that has had its attempts'),
    }),
  }),
  KubeconfigRefreshed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: "The administrator's kubeconfig that was renewed on the control plane replaces the sealed one.",
    data: z.strictObject({ uid, node, kubeconfigRef: SecretRef, expiresAt: z.iso.datetime() }),
  }),
  KubeconfigIssued: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'access',
    doc: "The cluster signed the operator's client certificate; the kubeconfig with its key is sealed until it expires.",
    data: z.strictObject({
      uid,
      requestId: z.uuid(),
      user: KubernetesUser,
      kubeconfigRef: SecretRef,
      expiresAt: z.iso.datetime(),
    }),
  }),
  KubeconfigNotIssued: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'access',
    doc: 'The cluster did not sign the client certificate that an operator requested.',
    data: z.strictObject({ uid, requestId: z.uuid(), user: KubernetesUser, cause: Cause }),
  }),
  KubeconfigRemoved: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'access',
    doc: 'The sealed kubeconfig of an operator is deleted: its certificate expired, or a later one replaced it.',
    data: z.strictObject({ uid, requestId: z.uuid(), user: KubernetesUser }),
  }),
  NetworkReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The CNI is installed, so nodes can become Ready.',
    data: z.strictObject({ uid, cni: Cni, version: z.string() }),
  }),
  ControlPlaneJoined: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'One more control plane serves the API and votes in etcd.',
    data: z.strictObject({
      uid,
      node,
      authentication: authentication.optional().describe('Absent: API servers of the cluster have no such file'),
    }),
  }),
  ControlPlaneReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Every control plane is healthy: API server, etcd and static pods.',
    data: z.strictObject({ uid, nodes: z.array(node).min(1) }),
  }),
  WorkerJoined: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A worker has joined the cluster.',
    data: z.strictObject({ uid, node }),
  }),
  JoinTokenRenewed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The join token of the node had expired before the host was ready; its join continues with a new one.',
    data: z.strictObject({ uid, node, endedAt: z.iso.datetime() }),
  }),
  AuthenticationConfigured: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The API server of the control plane has loaded a changed authentication file, without a restart.',
    data: z.strictObject({ uid, node, authentication }),
  }),
  UsersAuthorized: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Groups of the identity provider have their roles in the cluster; roles without groups were revoked.',
    data: z.strictObject({
      uid,
      authentication,
      roleBindings: z.array(z.strictObject({ clusterRole: z.string(), groups: z.array(z.string()) })),
    }),
  }),
  NodeLabelsSet: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The node has the labels and taints of its pool, or of a control plane; those that its pool no longer has were removed.',
    data: z.strictObject({ uid, node, ...NodeMetadata.shape }),
  }),
  AddonInstalled: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'An addon of the cluster is installed.',
    data: z.strictObject({ uid, addon: z.string(), version: z.string() }),
  }),
  DeclaredStateReapplied: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'After a restore of etcd, kubeadm-config, kube-proxy and CoreDNS have the version of the cluster again, and operators their role binding.',
    data: z.strictObject({
      uid,
      requestId: z.string().describe('Of the EtcdRestoreRequested that made it necessary'),
      kubernetesVersion: z.string(),
      coreDns: z.string().optional().describe('Version of CoreDNS; absent: not recorded'),
      missing: z
        .array(node)
        .min(1)
        .optional()
        .describe(
          'Nodes that have joined since the snapshot and were not registered again yet: they get their labels, taints and cordons when they are. Absent: none',
        ),
    }),
  }),
  ClusterReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Every node is Ready at the desired version and every bootstrap addon is installed.',
    data: z.strictObject({ uid }),
  }),
  BootstrapStepFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A step of the bootstrap failed; it is retried at nextAttemptAt, unless that is null.',
    data: z.strictObject({
      uid,
      step: z.string(),
      node: node.optional(),
      cause: Cause,
      attempt: z.int().min(1),
      attemptsMax: z.int().min(1),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  }),
  ClusterFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The cluster will not become ready by itself; retry continues from the step, delete cleans up.',
    data: z.strictObject({
      uid,
      step: z.string(),
      node: node.optional(),
      reason: z
        .string()
        .describe("Reason code, e.g. ControlPlaneInitFailed; events of earlier releases have CB-Ladybug's"),
      cause: Cause,
    }),
  }),
  NodesFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Nodes of a request could not join. They are removed or kept, and the cluster continues without them.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      nodes: z.array(node).describe('All nodes of the request that are not part of the cluster'),
      onFailure: OnFailure,
      step: z.string(),
      node: node.optional().describe('The node that failed'),
      reason: z.string().describe("CB-Ladybug's reason code"),
      cause: Cause,
    }),
  }),
  NodeReplacementReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The new node of a replacement is part of the cluster; the old one is drained and removed next, if it still exists.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      node: node.describe('The node that is replaced'),
      newNode: node,
    }),
  }),
  ControlPlaneChangeStarted: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A change of this control plane begins in a cluster that serves: a snapshot of etcd is taken before it unless one is young enough.',
    data: z.strictObject({
      uid,
      node,
      change: z.enum(['join', 'authentication']).describe('It joins, or its API server gets other settings for users'),
      number: z.int().min(1).describe('Counts such changes of the cluster'),
    }),
  }),
  ControlPlaneRemovalStarted: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The removal of this control plane begins: the quorum is checked, etcd is saved and its leader is moved before the drain.',
    data: z.strictObject({ uid, node, attempt: z.int().min(1) }),
  }),
  InitialControlPlaneChanged: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The initial control plane leaves; another one takes its role.',
    data: z.strictObject({ uid, from: node, to: node }),
  }),
  NodeDrainBlocked: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The drain of a node that is being removed takes long. It continues to wait for the remaining pods.',
    data: z.strictObject({
      uid,
      node,
      since: z.iso.datetime().describe('When the drain began'),
      left: z.int().min(1).describe('How many pods are left'),
      pods: z
        .array(z.strictObject({ pod: z.string(), reason: z.string() }))
        .describe('The first of them as namespace/name, each with what it waits for, such as a PodDisruptionBudget'),
    }),
  }),
  NodeRemovalCancelled: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The node is kept because its drain had not ended: it is uncordoned, and its pool counts it again. Evicted pods do not return by themselves.',
    data: z.strictObject({ uid, node, pool: z.string() }),
  }),
  NodeDrained: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A node that is being removed is cordoned and its pods are evicted; one that does not run leaves without a drain.',
    data: z.strictObject({
      uid,
      node,
      evictedPods: z.int().min(0),
      dead: z.boolean(),
      leftPods: z.int().min(1).optional().describe('Pods that were left when its time was over; absent: none'),
      attachedVolumes: z
        .int()
        .min(1)
        .optional()
        .describe('Volumes that were still attached when their time was over; absent: none'),
      returned: ReturnedPods.optional(),
    }),
  }),
  NodeRemoved: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Kubernetes and etcd no longer list the node; its machine can be deleted.',
    data: z.strictObject({
      uid,
      node,
      undeleted: Cause.optional().describe(
        'Why Kubernetes still has its Node after NODE_DELETION_TIMEOUT_MS; absent: the Node was deleted',
      ),
    }),
  }),
  ClusterDismantled: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'All work on the cluster has stopped, and what it held outside of its machines is released; its machines can be deleted.',
    data: z.strictObject({
      uid,
      left: z
        .array(z.string().max(OUTSIDE_NAME_MAX))
        .min(1)
        .max(OUTSIDE_LEFT_MAX)
        .optional()
        .describe('Load balancers and volumes that the cluster did not release in time; absent: none'),
    }),
  }),
} as const;
