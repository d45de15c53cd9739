import * as z from 'zod';
import { KubernetesRelease } from './kubernetes.release.js';
import { ChangesAllowedUntil, DesiredSoftware } from './software.versions.js';
import { HostProfile } from './hosts.js';
import { ClusterName, ClusterUid, Namespace, NodeName } from './ids.js';
import { NodeRole } from './machines.js';

/**
 * Paths on a host. Every path is below `$FAIRLEAD_ROOT`, which is empty on a real host and a separate folder per host
 * in the lab.
 */
export const AGENT_PATHS = {
  program: '/opt/fairlead/agent.mjs',
  /** A new agent is placed here and verified before it replaces the running one. */
  nextProgram: '/opt/fairlead/agent.next.mjs',
  /** The previous agent, restored if a new one does not start. */
  previousProgram: '/opt/fairlead/agent.previous.mjs',
  previousConfig: '/etc/fairlead/agent.previous.json',
  /** Exists until a new agent has reported that it works; contains the number of its starts. */
  trial: '/var/lib/fairlead/agent.trial',
  /** Exists if the agent has reached NATS since its last start. */
  connected: '/var/lib/fairlead/agent.connected',
  /** Runs before each start of the agent. */
  guard: '/opt/fairlead/agent-guard',
  /** The Node.js runtime that the unit names: a link to the host's own, or the one that bootstrap-svc installed. */
  node: '/opt/fairlead/node',
  /** bootstrap-svc's own runtime, gzipped, during its upload to the host. */
  nodeArchive: '/opt/fairlead/node.gz',
  unit: '/etc/systemd/system/fairlead-agent.service',
  config: '/etc/fairlead/agent.json',
  credentials: '/etc/fairlead/nats.creds',
  state: '/var/lib/fairlead/agent-state.json',
  /** Log of the agent's changes to its host, one line each; bounded. */
  journal: '/var/log/fairlead/agent.log',
  /** Exists while the agent still imports images that its node needs later; a join waits until it is gone. */
  imagesPending: '/run/fairlead/images.pending',
  /** The content of a bundle, installed by bootstrap-svc. */
  mirror: '/var/lib/fairlead/mirror',
  /** A bundle during its upload. */
  bundle: '/var/lib/fairlead/bundle.tar.gz',
  /** An etcd snapshot during its upload for a restore. */
  snapshot: '/var/lib/fairlead/etcd-snapshot.db',
  steps: '/var/lib/fairlead/steps',
  /** State of the host before the agent changed it. */
  before: '/var/lib/fairlead/before',
} as const;

/** The agent's settings for its kind of host; absent fields default to those of a host that is set up from packages. */
export const AgentProfile = HostProfile.pick({
  source: true,
  cgroupDriver: true,
  failSwapOn: true,
  imageRepository: true,
  imagePullPolicy: true,
  ignorePreflightErrors: true,
  proxy: true,
  rebootWhenRequired: true,
});
export type AgentProfile = z.infer<typeof AgentProfile>;

/** The agent's first configuration, written by bootstrap-svc: its identity and its initial desired state. */
export const AgentConfig = z.strictObject({
  namespace: Namespace,
  cluster: ClusterName,
  uid: ClusterUid,
  node: NodeName,
  role: NodeRole,
  leader: z.boolean().optional().describe('kubeadm init runs here, so its images come first'),
  profile: AgentProfile.optional(),
  natsUrls: z.array(z.string()).min(1),
  natsCa: z.string().optional().describe("Authority of the NATS servers' certificates, PEM; then TLS is required"),
  heartbeatIntervalMs: z.int().min(100),
  desired: z.strictObject({
    revision: z.int().min(1),
    software: DesiredSoftware,
    changesAllowed: z.boolean(),
    changesAllowedUntil: ChangesAllowedUntil.optional(),
    releases: z.array(KubernetesRelease).optional().describe('Of this software, as far as they are not built in'),
  }),
  nodeLabels: z.record(z.string(), z.string()).describe('Written to the Node object as soon as the API answers'),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

/** Annotations that the agent writes to its Node object: ORBITER's names under Fairlead's domain. */
export const NODE_ANNOTATIONS = {
  uid: 'fairlead.dev/cluster-uid',
  ready: 'node.fairlead.dev/ready',
  changesAllowed: 'node.fairlead.dev/changes-allowed',
  revision: 'node.fairlead.dev/revision',
  currentVersion: (software: string): string => `software.fairlead.dev/${software}.current-version`,
  desiredVersion: (software: string): string => `software.fairlead.dev/${software}.desired-version`,
} as const;
