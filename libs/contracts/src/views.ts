import { z } from 'zod';
import { Cause } from './failures.js';
import { NodeRole } from './machines.js';
import { RoleGrant } from './requests.js';

/**
 * Answers of the REST API. CB-Ladybug's fields keep their names (ladybug-api.md, 2.3), without the admin kubeconfig and the
 * SSH keys that it put into every answer; fields of our own stand after them.
 */

const time = z.string().describe('RFC 3339, UTC');

/** CB-Ladybug's phases of a cluster. */
export const CLUSTER_PHASES = ['Pending', 'Provisioning', 'Provisioned', 'Failed', 'Deleting'] as const;
export const ClusterPhase = z.enum(CLUSTER_PHASES);
export type ClusterPhase = z.infer<typeof ClusterPhase>;

export const NODE_PHASES = ['Planned', 'Bootstrapping', 'Joining', 'Ready', 'NotReady', 'Lost', 'Removing'] as const;
export const NodePhase = z.enum(NODE_PHASES);
export type NodePhase = z.infer<typeof NodePhase>;

export const OPERATION_KINDS = ['create', 'retry', 'delete', 'add-nodes', 'remove-node', 'upgrade'] as const;
export const OperationKind = z.enum(OPERATION_KINDS);
export type OperationKind = z.infer<typeof OperationKind>;

export const OPERATION_PHASES = ['Running', 'Succeeded', 'Failed', 'Superseded'] as const;
export const OperationPhase = z.enum(OPERATION_PHASES);
export type OperationPhase = z.infer<typeof OperationPhase>;

export const StepView = z
  .strictObject({
    name: z.string().describe('Stable name, e.g. init-control-plane'),
    title: z.string(),
    state: z.enum(['waiting', 'running', 'done', 'failed']),
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    durationMs: z.int().nullable().describe('From start to finish; null while it is not finished'),
    done: z
      .int()
      .nullable()
      .describe('How many of the nodes it is about have passed it; null when it is not about nodes'),
    total: z.int().nullable(),
  })
  .meta({ id: 'Step', description: 'A step of an operation' });
export type StepView = z.infer<typeof StepView>;

export const StepFailureView = z
  .strictObject({
    at: time,
    step: z.string().describe('The step in the words of the service that tried it'),
    node: z.string().nullable(),
    cause: Cause,
    sentence: z.string(),
    attempt: z.int(),
    attemptsMax: z.int(),
    nextAttemptAt: time.nullable().describe('null: that was the last attempt'),
  })
  .meta({ id: 'StepFailure', description: 'A failed attempt at a step' });
export type StepFailureView = z.infer<typeof StepFailureView>;

export const OperationView = z
  .strictObject({
    id: z.string().describe('Id of the event that is the wish'),
    kind: OperationKind,
    phase: OperationPhase,
    uid: z.string(),
    actor: z.string(),
    startedAt: time,
    finishedAt: time.nullable(),
    durationMs: z.int().nullable(),
    nodes: z.array(z.string()).describe('The nodes that it is about, where it is not about the whole cluster'),
    currentStep: z.string().nullable().describe('Name of the step that runs or failed'),
    steps: z.array(StepView),
    failures: z.array(StepFailureView).describe('The latest failed attempts, oldest first'),
    failuresTotal: z.int(),
    message: z.string().describe('Why it ended as it did; empty when there is nothing to say'),
  })
  .meta({ id: 'Operation', description: 'What became of one wish' });
export type OperationView = z.infer<typeof OperationView>;

export const OperationList = z
  .strictObject({ kind: z.literal('OperationList'), items: z.array(OperationView) })
  .meta({ id: 'OperationList' });
export type OperationList = z.infer<typeof OperationList>;

export const NodeView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Node'),
    publicIp: z.string(),
    privateIp: z.string(),
    role: NodeRole,
    spec: z.string(),
    csp: z.string(),
    createdTime: z.string().describe('When its machine ran; empty before'),
    cspLabel: z.string().describe('key=value'),
    regionLabel: z.string().describe('key=value'),
    zoneLabel: z.string().describe('key=value'),
    phase: NodePhase,
    leader: z.boolean(),
    connection: z.string(),
    ready: z.boolean().describe('Kubernetes calls it Ready and its agent is heard of'),
    reason: z.string().describe('Why it is not Ready, in one sentence; empty when it is'),
    software: z.record(z.string(), z.string()).describe('Versions that its agent reported'),
    pool: z.string(),
    extraFor: z.string().optional().describe('The upgrade while which it is extra; absent: of the size of its pool'),
    updatesDisabled: z.string().nullable().describe('Why it or its pool is held out of changes; null: it is not'),
    changedAt: time.describe('When the latest event about it happened'),
  })
  .meta({ id: 'Node', description: 'A node of a cluster, from the moment that its machine is planned' });
export type NodeView = z.infer<typeof NodeView>;

export const NodeList = z
  .strictObject({ kind: z.literal('NodeList'), items: z.array(NodeView) })
  .meta({ id: 'NodeList' });
export type NodeList = z.infer<typeof NodeList>;

export const MachineView = z
  .strictObject({
    name: z.string(),
    role: NodeRole,
    pool: z.string(),
    leader: z.boolean(),
    connection: z.string(),
    spec: z.string(),
    status: z.enum(['planned', 'running']),
    providerId: z.string().nullable(),
    publicIp: z.string().nullable(),
    privateIp: z.string().nullable(),
    sshPort: z.int().nullable(),
    csp: z.string().nullable(),
    region: z.string().nullable(),
    zone: z.string().nullable(),
    plannedAt: time,
    createdAt: time.nullable(),
  })
  .meta({ id: 'Machine', description: 'A machine under a node, as its provider knows it' });
export type MachineView = z.infer<typeof MachineView>;

export const MachineList = z
  .strictObject({ kind: z.literal('MachineList'), items: z.array(MachineView) })
  .meta({ id: 'MachineList' });
export type MachineList = z.infer<typeof MachineList>;

export const ConditionView = z
  .strictObject({
    type: z.enum(['Accepted', 'InfrastructureReady', 'ControlPlaneReady', 'NetworkReady', 'Ready']),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string(),
    message: z.string(),
    lastTransitionTime: time,
  })
  .meta({ id: 'Condition', description: 'One thing that is true of a cluster or not' });
export type ConditionView = z.infer<typeof ConditionView>;

export const ClusterView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Cluster'),
    status: z.strictObject({
      phase: ClusterPhase,
      reason: z.string().describe("CB-Ladybug's reason code, or a refusal code; empty when nothing is wrong"),
      message: z.string(),
    }),
    mcis: z.string().describe("Name of the cluster's machine group"),
    namespace: z.string(),
    k8sVersion: z.string(),
    cpLeader: z.string().describe('Name of the leading control plane; empty until machines are planned'),
    cpGroup: z.string(),
    networkCni: z.string(),
    label: z.string(),
    installMonAgent: z.string(),
    loadbalancer: z.string(),
    etcd: z.string(),
    description: z.string(),
    createdTime: time,
    serviceType: z.string(),
    nodes: z.array(NodeView),
    uid: z.string().describe('One incarnation of the cluster: the name may return, the uid does not'),
    singleNode: z.boolean(),
    endpoint: z.string().describe('https://host:port of the Kubernetes API; empty until it is known'),
    podCidr: z.string(),
    serviceCidr: z.string(),
    serviceDnsDomain: z.string(),
    conditions: z.array(ConditionView),
    progress: z
      .strictObject({
        operation: OperationKind,
        currentStep: z.string().nullable(),
        title: z.string().describe('What happens now, for a person'),
        nodesReady: z.int(),
        nodesTotal: z.int(),
        steps: z.array(StepView),
      })
      .nullable()
      .describe('The latest operation'),
    lastSeq: z.int().describe('Sequence of the latest event that changed this view'),
  })
  .meta({ id: 'Cluster' });
export type ClusterView = z.infer<typeof ClusterView>;

export const ClusterList = z
  .strictObject({ kind: z.literal('ClusterList'), items: z.array(ClusterView) })
  .meta({ id: 'ClusterList' });
export type ClusterList = z.infer<typeof ClusterList>;

export const StatusView = z
  .strictObject({ kind: z.literal('Status'), code: z.int(), message: z.string() })
  .meta({ id: 'Status', description: 'That something was accepted or done' });
export type StatusView = z.infer<typeof StatusView>;

const RefusalEntry = z.strictObject({
  reason: z.string().describe('Stable code of the refusal catalogue, e.g. cluster.name-taken'),
  message: z.string(),
  field: z.string().optional().describe('Path of what is wrong in the request, e.g. config.kubernetes.podCidr'),
  help: z.string(),
});

export const ErrorView = z
  .strictObject({
    kind: z.literal('Status'),
    code: z.int().describe('The HTTP status'),
    ...RefusalEntry.shape,
    errors: z
      .array(RefusalEntry)
      .describe('Everything that is wrong, in the order of the rules; the first is repeated above'),
    requestId: z.string(),
  })
  .meta({ id: 'Error', description: 'Why a request was refused. Nothing was changed' });
export type ErrorView = z.infer<typeof ErrorView>;

export const NamespaceView = z
  .strictObject({ name: z.string(), kind: z.literal('Namespace'), description: z.string(), createdTime: time })
  .meta({ id: 'Namespace' });
export type NamespaceView = z.infer<typeof NamespaceView>;

export const NamespaceList = z
  .strictObject({ kind: z.literal('NamespaceList'), items: z.array(NamespaceView) })
  .meta({ id: 'NamespaceList' });
export type NamespaceList = z.infer<typeof NamespaceList>;

export const ConnectionView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Connection'),
    provider: z.string(),
    region: z.string(),
    zone: z.string(),
    settings: z.record(z.string(), z.unknown()),
    hasSecret: z.boolean().describe('Whether a secret is sealed for it; the secret itself is never returned'),
    registeredTime: time,
    verified: z
      .strictObject({ at: time, zones: z.array(z.string()), specs: z.int(), nlb: z.boolean(), simulated: z.boolean() })
      .nullable()
      .describe('What the provider offered when infra-svc last reached it; null: never reached'),
    problem: z.string().describe('Why it cannot be used now; empty when nothing is known against it'),
    hosts: z
      .array(
        z.strictObject({
          name: z.string(),
          address: z.string(),
          zone: z.string(),
          spec: z.string(),
          state: z.enum(['free', 'in-use', 'kept-out']).describe('kept-out: it was given back and could not be reset'),
          cluster: z.string().describe('<namespace>/<cluster> that has it, or had it; empty: none'),
          machine: z.string(),
          problem: z.string().describe('What is wrong with it, as it was found last; empty: nothing'),
        }),
      )
      .optional()
      .describe('The inventory of your own hosts'),
  })
  .meta({ id: 'Connection' });
export type ConnectionView = z.infer<typeof ConnectionView>;

export const ConnectionList = z
  .strictObject({ kind: z.literal('ConnectionList'), items: z.array(ConnectionView) })
  .meta({ id: 'ConnectionList' });
export type ConnectionList = z.infer<typeof ConnectionList>;

export const SpecList = z
  .strictObject({
    kind: z.literal('specList'),
    connectionName: z.string(),
    items: z.array(
      z.strictObject({
        name: z.string(),
        memory: z.string().describe('GiB'),
        cpu: z.strictObject({ count: z.string(), clock: z.string().describe('GHz') }),
      }),
    ),
  })
  .meta({ id: 'SpecList' });
export type SpecList = z.infer<typeof SpecList>;

export const EventView = z
  .strictObject({
    seq: z.int().describe('Position in the log; also the id of a server-sent event'),
    id: z.string(),
    type: z.string(),
    time,
    namespace: z.string(),
    cluster: z.string(),
    context: z.string(),
    source: z.string(),
    actor: z.string(),
    correlationId: z.string(),
    causationId: z.string(),
    sentence: z.string().describe('What happened, for a person'),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'A fact of the log' });
export type EventView = z.infer<typeof EventView>;

export const EventList = z
  .strictObject({
    kind: z.literal('EventList'),
    items: z.array(EventView),
    next: z.int().nullable().describe('Give it as `after` to read on; null: the end of the log was reached'),
  })
  .meta({ id: 'EventList' });
export type EventList = z.infer<typeof EventList>;

export const AuditEntry = z
  .strictObject({
    seq: z.int(),
    id: z.string(),
    time,
    type: z.string(),
    actor: z.string(),
    source: z.string(),
    sentence: z.string(),
    because: z
      .array(z.strictObject({ seq: z.int(), type: z.string(), id: z.string() }))
      .describe('The chain of causes, nearest first, as far as it lies in the history of this cluster'),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditView = z
  .strictObject({
    kind: z.literal('Audit'),
    namespace: z.string(),
    cluster: z.string(),
    items: z.array(AuditEntry),
    verification: z
      .strictObject({
        intact: z.boolean(),
        events: z.int(),
        streams: z.int().describe('Hash chains that were checked: one per context'),
        faults: z.array(z.strictObject({ seq: z.int(), context: z.string(), fault: z.string() })),
      })
      .describe('The hash chains of the log, computed anew for this answer'),
  })
  .meta({ id: 'Audit', description: 'The history of a cluster name, replayed from the log' });
export type AuditView = z.infer<typeof AuditView>;

export const TokenView = z
  .strictObject({
    id: z.string(),
    kind: z.literal('Token'),
    name: z.string(),
    roles: z.array(RoleGrant),
    createdTime: time,
  })
  .meta({ id: 'Token', description: 'An API token, without what makes it one' });
export type TokenView = z.infer<typeof TokenView>;

export const TokenList = z
  .strictObject({ kind: z.literal('TokenList'), items: z.array(TokenView) })
  .meta({ id: 'TokenList' });
export type TokenList = z.infer<typeof TokenList>;

export const CreatedTokenView = z
  .strictObject({ ...TokenView.shape, token: z.string().describe('Shown this once: only its hash is kept') })
  .meta({ id: 'CreatedToken' });
export type CreatedTokenView = z.infer<typeof CreatedTokenView>;

export const ParkedView = z
  .strictObject({
    service: z.string(),
    consumer: z.string(),
    namespace: z.string(),
    cluster: z.string(),
    seq: z.int().describe('The event that could not be processed'),
    eventId: z.string(),
    error: z.string(),
    parkedTime: time,
  })
  .meta({
    id: 'Parked',
    description: 'A cluster whose events a consumer cannot process; no other cluster waits for it',
  });
export type ParkedView = z.infer<typeof ParkedView>;

export const ParkedList = z
  .strictObject({ kind: z.literal('ParkedList'), items: z.array(ParkedView) })
  .meta({ id: 'ParkedList' });
export type ParkedList = z.infer<typeof ParkedList>;

export const VersionView = z
  .strictObject({
    kind: z.literal('Version'),
    fairlead: z.string(),
    kubernetes: z.strictObject({ default: z.string(), known: z.array(z.string()) }),
  })
  .meta({ id: 'Version' });
export type VersionView = z.infer<typeof VersionView>;
