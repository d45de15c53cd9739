import {
  NODE_ANNOTATIONS,
  type AgentConfig,
  type CgroupV1,
  type Heartbeat,
  type KubeletSettings,
  type SoftwareVersions,
  type SourceLook,
} from '@fairlead/contracts';
import { AGENT_VERSION } from '../version.js';
import { isAgentReady, mayChange, revisionOf, type Reported } from './agent.decider.js';
import type { NodeMetadata, NodeView } from './agent.ports.js';
import type { Desired } from '../node/desired.state.js';

/** The state of a node, for every listener. */
export const heartbeatOf = (
  { uid, node }: AgentConfig,
  now: {
    readonly at: Date;
    readonly bootId: string;
    readonly reported: Reported;
    readonly kubernetes: NodeView | undefined;
    readonly software: SoftwareVersions;
    readonly source: SourceLook | undefined;
    readonly kubelet: KubeletSettings | undefined;
    readonly cgroupV1: CgroupV1 | undefined;
  },
): Heartbeat => ({
  uid,
  node,
  at: now.at.toISOString(),
  bootId: now.bootId,
  agentVersion: AGENT_VERSION,
  revision: revisionOf(now.reported.standing),
  ready: isAgentReady(now.reported),
  kubernetesReady: now.kubernetes?.ready ?? null,
  software: now.software,
  ...(now.source === undefined ? {} : { source: now.source }),
  ...(now.kubelet === undefined ? {} : { kubelet: now.kubelet }),
  ...(now.cgroupV1 === undefined ? {} : { cgroupV1: now.cgroupV1 }),
});

/** The agent's state and desired state, shown on the Node object for operators. */
export const metadataOf = ({ uid, nodeLabels }: AgentConfig, desired: Desired, reported: Reported): NodeMetadata => {
  const versions = (software: SoftwareVersions, name: (of: string) => string): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(software).map(([of, version]) => [name(of), version]));
  return {
    labels: nodeLabels,
    annotations: {
      [NODE_ANNOTATIONS.uid]: uid,
      [NODE_ANNOTATIONS.ready]: String(isAgentReady(reported)),
      [NODE_ANNOTATIONS.changesAllowed]: String(mayChange(reported, desired)),
      [NODE_ANNOTATIONS.revision]: String(revisionOf(reported.standing)),
      ...versions(desired.software, NODE_ANNOTATIONS.desiredVersion),
      ...versions(reported.software ?? {}, NODE_ANNOTATIONS.currentVersion),
    },
  };
};
