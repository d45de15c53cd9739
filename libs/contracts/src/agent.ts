import { z } from 'zod';
import { SoftwareVersions } from './events/node.events.js';
import { ClusterName, ClusterUid, Namespace, NodeName } from './ids.js';
import { NodeRole } from './machines.js';

/**
 * Where things are on a host. Every path is below `$FAIRLEAD_ROOT`, which is empty on a real host and a folder of the
 * host's own in the lab.
 */
export const AGENT_PATHS = {
  program: '/opt/fairlead/agent.mjs',
  unit: '/etc/systemd/system/fairlead-agent.service',
  config: '/etc/fairlead/agent.json',
  credentials: '/etc/fairlead/nats.creds',
  state: '/var/lib/fairlead/agent-state.json',
  steps: '/var/lib/fairlead/steps',
} as const;

/** What bootstrap-svc puts on a host before its agent's first report: who it is, and its initial desired state. */
export const AgentConfig = z.strictObject({
  namespace: Namespace,
  cluster: ClusterName,
  uid: ClusterUid,
  node: NodeName,
  role: NodeRole,
  natsUrls: z.array(z.string()).min(1),
  inboxPrefix: z.string(),
  heartbeatIntervalMs: z.int().min(100),
  desired: z.strictObject({ revision: z.int().min(1), software: SoftwareVersions, changesAllowed: z.boolean() }),
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
