import { NODE_LOST_AFTER_MS } from '@fairlead/contracts';
import { parseEnvironment } from '@fairlead/service-kit';
import * as z from 'zod';
import { addressRanges, type AddressRange } from '@fairlead/service-kit/http';

const milliseconds = (defaultMs: number) => z.coerce.number().int().min(1).default(defaultMs);

const Environment = z.object({
  NODE_LOST_AFTER_MS: z.coerce
    .number()
    .int()
    .min(500)
    .default(NODE_LOST_AFTER_MS)
    .describe('A node without a heartbeat for longer is lost'),
  NODES_WATCH_INTERVAL_MS: z.coerce
    .number()
    .int()
    .min(100)
    .default(60_000)
    .describe('Between two lists of the Nodes of a cluster'),
  NODE_WITHOUT_MACHINE_LIMIT_MS: z.coerce
    .number()
    .int()
    .min(1_000)
    .default(60 * 60_000)
    .describe('A Node without a machine that is not Ready for longer is deleted'),
  UPGRADE_LOOK_EVERY_MS: milliseconds(500).describe('How often a drain or a gate is checked again while it waits'),
  UPGRADE_PASS_INTERVAL_MS: milliseconds(10_000).describe('Between two checks whether a cluster is healthy (B2)'),
  UPGRADE_LEASE_INTERVAL_MS: milliseconds(3_000).describe('Within which leases must be renewed (C5)'),
  UPGRADE_USER_GATE_EVERY_MS: milliseconds(30_000).describe("How often a user's gate is checked again (D7)"),
  GATE_ADDRESSES_ALLOWED: addressRanges.describe('Ranges besides public addresses that user gates may connect to'),
  HOOK_ADDRESSES_ALLOWED: addressRanges.describe('Ranges besides public addresses that hooks of manifests may be at'),
  HOOK_RETRY_MIN_MS: milliseconds(10_000).describe('No hook is asked again sooner'),
  ETCD_SNAPSHOTS_KEPT: z.coerce.number().int().min(1).max(1_000).default(5).describe('Of each cluster, the newest'),
  ETCD_SNAPSHOT_MAX_MIB: z.coerce
    .number()
    .int()
    .min(1)
    .max(1024 * 1024)
    .default(2304)
    .describe('A larger snapshot of etcd is not kept; the default is the default quota of etcd and some reserve'),
  TASK_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(64),
});

/** The settings of this service besides those of every service; parsed once and frozen. */
export interface Settings {
  readonly nodeLostAfterMs: number;
  /** Interval between two checks for nodes without heartbeats. */
  readonly healthSweepMs: number;
  readonly nodesWatchIntervalMs: number;
  /** How long a Node without a recorded machine may be NotReady. */
  readonly strangerLimitMs: number;
  readonly lookEveryMs: number;
  readonly passIntervalMs: number;
  /** kube-controller-manager and kube-scheduler renew every 2 s by default (--leader-elect-retry-period). */
  readonly leaseIntervalMs: number;
  readonly userGateEveryMs: number;
  readonly gateAddressesAllowed: readonly AddressRange[];
  readonly hookAddressesAllowed: readonly AddressRange[];
  readonly hookAgainAfterMs: number;
  readonly snapshotsKept: number;
  readonly snapshotMaxBytes: number;
  readonly taskConcurrency: number;
  /** How often a waiting job checks whether it is still desired. */
  readonly sliceMs: number;
}

const MIB = 1024 * 1024;
const SLICE_MS = 5_000;
const SWEEPS_PER_LIMIT = 40;
const SWEEP_INTERVAL_MAX_MS = 1_000;

/** Throws a ConfigurationError with all problems at once. */
export const readSettings = (env: Readonly<Record<string, string | undefined>>): Settings => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    nodeLostAfterMs: parsed.NODE_LOST_AFTER_MS,
    healthSweepMs: Math.min(SWEEP_INTERVAL_MAX_MS, parsed.NODE_LOST_AFTER_MS / SWEEPS_PER_LIMIT),
    nodesWatchIntervalMs: parsed.NODES_WATCH_INTERVAL_MS,
    strangerLimitMs: parsed.NODE_WITHOUT_MACHINE_LIMIT_MS,
    lookEveryMs: parsed.UPGRADE_LOOK_EVERY_MS,
    passIntervalMs: parsed.UPGRADE_PASS_INTERVAL_MS,
    leaseIntervalMs: parsed.UPGRADE_LEASE_INTERVAL_MS,
    userGateEveryMs: parsed.UPGRADE_USER_GATE_EVERY_MS,
    gateAddressesAllowed: parsed.GATE_ADDRESSES_ALLOWED,
    hookAddressesAllowed: parsed.HOOK_ADDRESSES_ALLOWED,
    hookAgainAfterMs: parsed.HOOK_RETRY_MIN_MS,
    snapshotsKept: parsed.ETCD_SNAPSHOTS_KEPT,
    snapshotMaxBytes: parsed.ETCD_SNAPSHOT_MAX_MIB * MIB,
    taskConcurrency: parsed.TASK_CONCURRENCY,
    sliceMs: SLICE_MS,
  });
};
