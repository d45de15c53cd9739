import * as z from 'zod';
import { OnFailure } from '../cluster-spec.js';
import { Cause } from '../failures.js';
import { ClusterUid, ConnectionName, NodeName, SecretRef, UpgradeId } from '../ids.js';
import { Machine, MachinePlan } from '../machines.js';
import { HostChecks } from '../own-hosts.js';
import { ReplacementOrder } from '../replacement-orders.js';
import { ROTATION_HOSTS_MAX, RotationHost, SshKeyGeneration } from '../ssh-key.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const connection = ConnectionName;

/** A machine size that a provider offers. */
export const MachineSpec = z.strictObject({
  name: z.string().min(1),
  cpuCount: z.int().min(1),
  memoryGiB: z.number().positive(),
  cpuClockGHz: z.number().positive().nullable().describe('null: the provider does not say'),
});
export type MachineSpec = z.infer<typeof MachineSpec>;

const inspectedHosts = z
  .array(
    z.strictObject({
      name: NodeName,
      problem: z.string().describe('Empty: it answers and is fit'),
      warning: z.string().optional().describe('What should be changed although it is fit'),
      checks: HostChecks.optional().describe('Absent: an earlier release inspected it'),
    }),
  )
  .describe('The hosts of an inventory, as they answered');

/** The offer of a connection, as last reported by its provider. */
export const ConnectionOffer = z.strictObject({
  provider: z.string(),
  region: z.string(),
  zones: z.array(z.string()),
  specs: z.array(MachineSpec),
  capabilities: z.strictObject({
    nlb: z.boolean().describe('The provider runs a load balancer of its own'),
    simulated: z.boolean().describe('The machines are a simulation'),
  }),
  hosts: inspectedHosts.optional(),
});
export type ConnectionOffer = z.infer<typeof ConnectionOffer>;

const SIZES_MAX = 200;
const SIZE_LENGTH_MAX = 200;
const size = z.string().min(1).max(SIZE_LENGTH_MAX);

/** The machines that are reserved. */
export const ReservedMachines = z
  .array(z.strictObject({ spec: size, count: z.int().min(1) }))
  .min(1)
  .max(SIZES_MAX);
export type ReservedMachines = z.infer<typeof ReservedMachines>;

/** The machine size to request for each declared size. Sizes without an entry are requested unchanged. */
export const ReservedSizes = z
  .record(size, size)
  .refine((sizes) => Object.keys(sizes).length <= SIZES_MAX, `at most ${SIZES_MAX} sizes`);
export type ReservedSizes = z.infer<typeof ReservedSizes>;

const rotationHosts = z.array(RotationHost).max(ROTATION_HOSTS_MAX);

/** Machines and the resources they depend on. Written by infra-svc. */
export const machinesEvents = {
  ClusterAccepted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The request passed every check; nothing is created yet.',
    data: z.strictObject({
      uid,
      waits: z
        .strictObject({
          reserves: z.array(connection).describe('Connections on which machines are reserved first'),
          startsAt: z.iso.datetime().nullable().describe('No machine is requested earlier; null: at once'),
        })
        .optional()
        .describe('What its machines wait for; absent: nothing'),
    }),
  }),
  ReservationConfirmed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A provider has reserved the machines of the cluster on this connection until endsAt; recorded again when the end changes.',
    data: z.strictObject({
      uid,
      connection,
      startsAt: z.iso.datetime().nullable(),
      endsAt: z.iso.datetime(),
      machines: ReservedMachines,
    }),
  }),
  ReservationActivated: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The reservation on this connection has begun: machines can be requested, with the sizes that it maps theirs to.',
    data: z.strictObject({ uid, connection, sizes: ReservedSizes }),
  }),
  ReservationDenied: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A provider does not reserve the machines until endsAt. What it had reserved before stays reserved until its own end.',
    data: z.strictObject({
      uid,
      connection,
      endsAt: z.iso.datetime().describe('The requested end'),
      until: z.iso.datetime().optional().describe('The end that the reservation has; absent: there is none'),
      cause: Cause,
    }),
  }),
  ReservationReleased: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider of this connection no longer reserves anything for the cluster.',
    data: z.strictObject({ uid, connection }),
  }),
  ClusterRejected: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The request failed a check; nothing was created.',
    data: z.strictObject({ uid, code: z.string(), message: z.string(), field: z.string().optional() }),
  }),
  VmsPlanned: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The machines are named, so asking a provider for them twice is safe from here on.',
    data: z.strictObject({
      uid,
      machines: z.array(MachinePlan).min(1),
      requestId: z
        .string()
        .optional()
        .describe(
          'The request for nodes, or for a replacement, that it answers; absent: the cluster itself, or a surge',
        ),
    }),
  }),
  VmCreated: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A machine is running and has an address.',
    data: z.strictObject({ uid, machine: Machine }),
  }),
  VmsCreated: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'Every planned machine of the cluster is running and has an address.',
    data: z.strictObject({ uid, machines: z.array(Machine).min(1) }),
  }),
  LoadBalancerReady: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: "The API server's address is known and will be balanced over the control planes.",
    data: z.strictObject({
      uid,
      kind: z.enum(['haproxy', 'nlb']),
      host: z.string(),
      port: z.int(),
      placement: z
        .enum(['provider', 'control-planes', 'elsewhere'])
        .optional()
        .describe(
          'Who balances: the provider (default), haproxy and keepalived on the control planes with host as their shared address, or something that is not ours',
        ),
    }),
  }),
  InfrastructureStepFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A provider failed at a step; it is retried at nextAttemptAt, unless that is null.',
    data: z.strictObject({
      uid,
      step: z.string(),
      cause: Cause,
      attempt: z.int().min(1),
      attemptsMax: z.int().min(1),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  }),
  InfrastructureFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'Provisioning failed; the cause is in the words of the provider.',
    data: z.strictObject({
      uid,
      step: z.string(),
      reason: z.string().describe("CB-Ladybug's reason code"),
      cause: Cause,
    }),
  }),
  NodesRejected: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A request for more workers failed a check; nothing was created, and the cluster is unchanged.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      code: z.string(),
      message: z.string(),
      field: z.string().optional(),
    }),
  }),
  NodeReplacementPlanned: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A rollout of a pool replaces this node next.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      rollout: z.string().describe('requestId of the PoolRolloutRequested'),
      pool: z.string(),
      node: NodeName,
      order: ReplacementOrder,
      reason: z.string().describe('What its machine has that the pool is not declared with, or why someone asked'),
    }),
  }),
  PoolRolloutCompleted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'No node of the pool is left to replace, except those that are excluded from changes.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      pool: z.string(),
      heldBack: z.array(z.strictObject({ node: NodeName, reason: z.string() })),
    }),
  }),
  PoolRolloutFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A node of the pool could not be replaced. No further replacement begins until a retry or another change of the pool.',
    data: z.strictObject({ uid, requestId: z.string(), pool: z.string(), cause: Cause }),
  }),
  VmsFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The machines of a request for nodes cannot be created. They are deleted or kept, and the cluster is unchanged.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      machines: z.array(NodeName).describe('All machines of the request; empty: none was planned'),
      onFailure: OnFailure,
      reason: z.string().describe("CB-Ladybug's reason code"),
      cause: Cause,
    }),
  }),
  VmDeletionFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider does not delete machines. The deletion is retried at nextAttemptAt, and by a retry request.',
    data: z.strictObject({
      uid,
      machines: z.array(NodeName).describe('Machines that may still run; empty: the load balancer only'),
      reason: z.string().describe('Reason code'),
      cause: Cause,
      attempt: z.int().min(1).describe('How often the deletion has failed'),
      nextAttemptAt: z.iso.datetime(),
    }),
  }),
  SurgeFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The surge machines of a pool cannot be provisioned; those that were created are deleted, and the cluster is unchanged.',
    data: z.strictObject({ uid, upgradeId: UpgradeId, pool: z.string(), cause: Cause }),
  }),
  LoadBalancerUpdated: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: "The load balancer of the cluster's API server sends requests to these control planes, and to no others.",
    data: z.strictObject({ uid, targets: z.array(NodeName) }),
  }),
  LoadBalancerDeleted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: "The load balancer of the cluster's API server was deleted.",
    data: z.strictObject({ uid }),
  }),
  VmDeleted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'A machine was deleted.',
    data: z.strictObject({ uid, name: NodeName }),
  }),
  InfrastructureDeleted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'Everything that the cluster had at providers is deleted; the deletion completes after hooks of AfterClusterDelete and the deletion of its client at an identity realm. Recorded only if one of them delays it.',
    data: z.strictObject({ uid }),
  }),
  ClusterDeleted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The cluster is deleted: only its history is kept, and the name is free again.',
    data: z.strictObject({ uid }),
  }),
  SshKeyReplacementRequested: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The SSH key of a connection is being rotated: hosts of the cluster that have the former key must accept the new one, and then only the new one.',
    data: z.strictObject({
      uid,
      connection,
      keyRef: SecretRef,
      publicKey: z.string(),
      former: z.strictObject({ keyRef: SecretRef, publicKey: z.string() }),
    }),
  }),
  SshKeyRotationStarted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'ssh-keys',
    scope: 'installation',
    doc: 'The provider has the new SSH key of the connection, and new machines get it; hosts that have the former one are next.',
    data: z.strictObject({ connection, key: SshKeyGeneration, former: SshKeyGeneration }),
  }),
  SshKeyRotationProgressed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'ssh-keys',
    scope: 'installation',
    doc: 'How many hosts accept only the new SSH key, and how many still need the former one; recorded again when that changes.',
    data: z.strictObject({
      connection,
      replaced: z.int().min(0),
      pending: z.int().min(0),
      hosts: rotationHosts.describe('The first of those that still need the former key'),
    }),
  }),
  SshKeyRotationFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'ssh-keys',
    scope: 'installation',
    doc: 'A step of a rotation failed; it is retried at nextAttemptAt, or, if that is null, when the rotation is requested again.',
    data: z.strictObject({
      connection,
      cause: Cause,
      attempt: z.int().min(1),
      attemptsMax: z.int().min(1),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  }),
  SshKeyRotated: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'ssh-keys',
    scope: 'installation',
    doc: 'The former SSH key of the connection is destroyed, at the provider and among the secrets.',
    data: z.strictObject({
      connection,
      keyRef: SecretRef,
      formerKeyRef: SecretRef,
      replaced: z.int().min(0).describe('Hosts that accept the new key only'),
      leftOut: z.int().min(0).describe('Hosts that had only the former key when the rotation was forced'),
      hosts: rotationHosts.describe('The first of those'),
    }),
  }),
  ConnectionVerified: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The provider answers, and this is what it offers; recorded again when the offer changes, and after each request to verify it.',
    data: z.strictObject({ connection, offer: ConnectionOffer }),
  }),
  ConnectionUnverified: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The connection cannot be used now; its last offer may no longer hold.',
    data: z.strictObject({
      connection,
      cause: Cause,
      hosts: inspectedHosts.optional().describe('Why none of the hosts of an inventory can be used; absent: not known'),
    }),
  }),
  ConnectionBusy: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'Tasks have been waiting for one of the concurrency slots of the connection in a replica; recorded again while they wait.',
    data: z.strictObject({
      connection,
      tasks: z.int().min(1).describe('How many wait'),
      places: z.int().min(0).describe('How many have a place'),
      since: z.iso.datetime().describe('Since when tasks wait'),
      takenSince: z.iso.datetime().describe('Since when the task that has had its place longest has it'),
      until: z.iso.datetime().describe('Unless it is stated again, it is over then'),
    }),
  }),
  ConnectionFree: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'No task is waiting for a concurrency slot of the connection.',
    data: z.strictObject({ connection }),
  }),
  NetworkEnsured: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The network that all clusters of the connection share exists.',
    data: z.strictObject({ connection, network: z.string(), subnet: z.string(), cidr: z.string() }),
  }),
  FirewallEnsured: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The firewall that all clusters of the connection share exists.',
    data: z.strictObject({ connection, firewall: z.string() }),
  }),
  SshKeyEnsured: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: "The connection's SSH key exists at the provider; the private half is sealed behind the reference.",
    data: z.strictObject({ connection, sshKey: z.string(), publicKey: z.string(), secretRef: SecretRef }),
  }),
  ImageEnsured: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The machine image of the connection is known.',
    data: z.strictObject({ connection, image: z.string(), os: z.string() }),
  }),
  SpecEnsured: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'A machine size of the connection is known.',
    data: z.strictObject({ connection, spec: z.string(), cpuCount: z.int(), memoryGiB: z.number() }),
  }),
} as const;
