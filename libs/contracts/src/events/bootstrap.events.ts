import { z } from 'zod';
import { Cni, OnFailure } from '../cluster-spec.js';
import { Cause } from '../failures.js';
import { ClusterUid, NodeName, SecretRef } from '../ids.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const node = NodeName;

/** Facts about hosts becoming a cluster. Written by bootstrap-svc, which alone says that a cluster is ready or has failed. */
export const bootstrapEvents = {
  HostReached: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The host answers over SSH, and its host key is pinned.',
    data: z.strictObject({ uid, node, hostKey: z.string(), attempts: z.int().min(1) }),
  }),
  AgentStarted: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The agent with this checksum runs on the host as a systemd unit and has its initial desired state.',
    data: z.strictObject({ uid, node, agentVersion: z.string(), sha256: z.string() }),
  }),
  AgentUpdateWanted: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Every node of the cluster shall run the agent with this checksum; bootstrap-svc has come with it.',
    data: z.strictObject({ uid, agentVersion: z.string(), sha256: z.string() }),
  }),
  AgentUpdated: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The node runs the agent with this checksum, which has said that it works; the one before is kept no longer.',
    data: z.strictObject({ uid, node, agentVersion: z.string(), sha256: z.string() }),
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
  EtcdSnapshotPlaced: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The snapshot to which etcd shall be set back lies on the control plane, its checksum was found right there.',
    data: z.strictObject({ uid, node, requestId: z.string(), snapshot: z.string(), sha256: z.string() }),
  }),
  EtcdReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'The external etcd is there: every member runs beside its control plane, knows the others and is healthy.',
    data: z.strictObject({
      uid,
      version: z.string(),
      members: z.array(z.strictObject({ node, address: z.string() })).min(1),
      caRef: SecretRef,
    }),
  }),
  ControlPlaneInitialized: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'kubeadm init has run on the leader; from now on the cluster must never be initialised again.',
    data: z.strictObject({ uid, node, endpoint: z.string(), kubeconfigRef: SecretRef, caCertHash: z.string() }),
  }),
  KubeconfigRefreshed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: "The administrator's kubeconfig that was renewed on the control plane is sealed in place of the one before.",
    data: z.strictObject({ uid, node, kubeconfigRef: SecretRef, expiresAt: z.iso.datetime() }),
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
    data: z.strictObject({ uid, node }),
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
  AddonInstalled: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'An addon of the cluster is installed.',
    data: z.strictObject({ uid, addon: z.string(), version: z.string() }),
  }),
  ClusterReady: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Every node is Ready at the wanted version and every bootstrap addon is installed.',
    data: z.strictObject({ uid }),
  }),
  BootstrapStepFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A step of the bootstrap failed; it is tried again at nextAttemptAt, unless that is null.',
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
    doc: 'The cluster will not become ready by itself; retry goes on from the step, delete cleans up.',
    data: z.strictObject({
      uid,
      step: z.string(),
      node: node.optional(),
      reason: z.string().describe("CB-Ladybug's reason code, e.g. InitControlPlaneFailedReason"),
      cause: Cause,
    }),
  }),
  NodesFailed: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Nodes of a request could not join. They are removed or kept, and the cluster goes on without them.',
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
  NodeDrained: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'A node that shall be removed is cordoned and its pods are evicted, or it was found dead.',
    data: z.strictObject({ uid, node, evictedPods: z.int().min(0), dead: z.boolean() }),
  }),
  NodeRemoved: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'Kubernetes and etcd no longer know the node; its machine may go.',
    data: z.strictObject({ uid, node }),
  }),
  ClusterDismantled: defineEvent({
    version: 1,
    writer: 'bootstrap-svc',
    context: 'bootstrap',
    doc: 'No bootstrap step of the cluster runs any more and what it held outside its machines is released; its machines may go.',
    data: z.strictObject({ uid }),
  }),
} as const;
