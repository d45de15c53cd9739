import * as z from 'zod';
import { SoftwareVersions } from './software.versions.js';
import { ClusterUid, NodeName } from './ids.js';
import { Time } from './time.js';

/**
 * Agents publish a heartbeat at this interval (with jitter); upgrade-svc keeps the last one of each node in memory. Not
 * an event.
 */
export const HEARTBEAT_INTERVAL_MS = 10_000;

/** A node without a heartbeat for this long is reported lost: three intervals plus slack for a slow network. */
export const NODE_LOST_AFTER_MS = 40_000;

/** A node's last check of its software source. */
export const SourceLook = z.object({
  at: Time,
  address: z.string(),
  failure: z.string().nullable().describe('Why it could not be read; null: it was'),
  releases: z.array(z.string()).nullable().describe('Kubernetes versions that it has; null: it has no catalogue'),
});
export type SourceLook = z.infer<typeof SourceLook>;

const SETTINGS_MAX = 100;
const SettingName = z.string().max(100);
const FeatureGates = z
  .record(SettingName, z.boolean())
  .refine((gates) => Object.keys(gates).length <= SETTINGS_MAX, `at most ${SETTINGS_MAX} feature gates`);

/** Kubelet flags that users set on the node itself: names, never values. */
export const KubeletSettings = z.object({
  flags: z.array(SettingName).max(SETTINGS_MAX).describe('KUBELET_EXTRA_ARGS of /etc/default/kubelet, without values'),
  gates: FeatureGates.describe('Feature gates of these flags and of the patches that kubeadm applies on the node'),
  config: FeatureGates.describe('Feature gates of /var/lib/kubelet/config.yaml, which kubeadm writes again'),
  fields: z
    .record(SettingName, z.string().regex(/^[\da-f]{8}$/))
    .refine((fields) => Object.keys(fields).length <= SETTINGS_MAX, `at most ${SETTINGS_MAX} fields`)
    .optional()
    .describe('Digests of its other fields, except those of the patches; absent: the agent does not compare them'),
});
export type KubeletSettings = z.infer<typeof KubeletSettings>;

/** What a kubelet does on a host with cgroup v1: it fails since v1.35, unless its configuration lets it run there. */
export const CgroupV1 = z.enum(['runs', 'fails']);
export type CgroupV1 = z.infer<typeof CgroupV1>;

/** Agents are updated independently of services: unknown fields of newer agents are ignored. */
export const Heartbeat = z.object({
  uid: ClusterUid,
  node: NodeName,
  at: Time,
  bootId: z.string(),
  agentVersion: z.string(),
  revision: z.int().describe('The desired revision that the node has reached'),
  ready: z.boolean().describe('The agent is neither changing software nor waiting to'),
  kubernetesReady: z.boolean().nullable().describe('The Node object says Ready; null while there is none to ask'),
  software: SoftwareVersions,
  source: SourceLook.optional().describe('Absent: packages of the distribution, or not looked at yet'),
  kubelet: KubeletSettings.optional().describe('Absent: nothing is set for it on the node itself'),
  cgroupV1: CgroupV1.optional().describe('Absent: the host has cgroup v2, or the agent does not look at it'),
});
export type Heartbeat = z.infer<typeof Heartbeat>;
