import * as z from 'zod';
import { KubernetesRelease } from './kubernetes.release.js';
import { ChangesAllowedUntil, DesiredSoftware } from './software.versions.js';
import { HostProfile } from './hosts.js';
import { ClusterName, ClusterUid, Namespace, NodeName } from './ids.js';
import { NodeRole } from './machines.js';

/**
 * Where things are on a host. Every path is below `$FAIRLEAD_ROOT`, which is empty on a real host and a folder of the
 * host's own in the lab.
 */
export const AGENT_PATHS = {
  program: '/opt/fairlead/agent.mjs',
  /** Where a new agent is put, verified, before it takes the place of the one that runs. */
  nextProgram: '/opt/fairlead/agent.next.mjs',
  /** What runs again when a new agent does not come up. */
  previousProgram: '/opt/fairlead/agent.previous.mjs',
  previousConfig: '/etc/fairlead/agent.previous.json',
  /** Exists until a new agent has reported that it works; contains how often it was started. */
  trial: '/var/lib/fairlead/agent.trial',
  /** There when the agent has reached NATS since it was started last. */
  connected: '/var/lib/fairlead/agent.connected',
  /** Runs before each start of the agent. */
  guard: '/opt/fairlead/agent-guard',
  /** The runtime that the unit names: a link to the host's own, or the one that bootstrap-svc put there. */
  node: '/opt/fairlead/node',
  /** bootstrap-svc's own runtime on its way to the host, in gzip. */
  nodeArchive: '/opt/fairlead/node.gz',
  unit: '/etc/systemd/system/fairlead-agent.service',
  config: '/etc/fairlead/agent.json',
  credentials: '/etc/fairlead/nats.creds',
  state: '/var/lib/fairlead/agent-state.json',
  /** What the agent did to its host, one line each; bounded. */
  journal: '/var/log/fairlead/agent.log',
  /** There while the agent still brings images that its node needs later; a join waits for its end. */
  imagesPending: '/run/fairlead/images.pending',
  /** A bundle's content, once bootstrap-svc has put it there. */
  mirror: '/var/lib/fairlead/mirror',
  /** A bundle on its way there. */
  bundle: '/var/lib/fairlead/bundle.tar.gz',
  /** A snapshot of etcd on its way into a restore. */
  snapshot: '/var/lib/fairlead/etcd-snapshot.db',
  steps: '/var/lib/fairlead/steps',
  /** What the host was like before its agent changed it. */
  before: '/var/lib/fairlead/before',
} as const;

/** What the agent needs about its kind of host; absent fields have the values of a host that is set up from packages. */
export const AgentProfile = HostProfile.pick({
  source: true,
  cgroupDriver: true,
  failSwapOn: true,
  imageRepository: true,
  imagePullPolicy: true,
  ignorePreflightErrors: true,
  proxy: true,
});
export type AgentProfile = z.infer<typeof AgentProfile>;

/** What bootstrap-svc puts on a host before its agent's first report: who it is, and its initial desired state. */
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

/** Annotations that the agent writes to its Node object; ORBITER's names under our domain. */
export const NODE_ANNOTATIONS = {
  uid: 'fairlead.dev/cluster-uid',
  ready: 'node.fairlead.dev/ready',
  changesAllowed: 'node.fairlead.dev/changes-allowed',
  revision: 'node.fairlead.dev/revision',
  currentVersion: (software: string): string => `software.fairlead.dev/${software}.current-version`,
  desiredVersion: (software: string): string => `software.fairlead.dev/${software}.desired-version`,
} as const;
