import { DELETE_POLICIES, REMEDIATION_STRATEGIES, ROLLOUT_STRATEGIES, TAINT_EFFECTS } from '@fairlead/contracts';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { collected, duration, integerBetween } from '../command/parsers.js';
import { usageFailure } from '../failures.js';
import { assignments, share, type Assignment } from '../upgrade/upgrade.request.js';

export const REPLICAS_MAX = 500;
const MIN_READY_SECONDS_MAX = 86_400;
const MS_PER_SECOND = 1_000;

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** Options for the declared fields of a pool. */
export interface PoolFlags {
  readonly replicas?: number;
  readonly min?: number;
  readonly max?: number;
  readonly connection?: string;
  readonly machineType?: string;
  readonly image?: string;
  readonly rootDiskType?: string;
  readonly rootDiskSize?: string;
  readonly zone?: readonly string[];
  readonly label?: readonly Assignment[];
  readonly taint?: readonly Taint[];
  readonly strategy?: string;
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
  readonly deletePolicy?: string;
  readonly minReady?: number;
  readonly remediation?: string;
  readonly unhealthyAfter?: string;
  readonly startupTimeout?: string;
  readonly maxUnhealthy?: number | string;
}

const TAINT = /^([^=:\s]+)(?:=([^:\s]*))?:(\w+)$/;

/** Collects `key[=value]:effect`, in kubectl's syntax for taints. */
export const taints = (text: string, before: readonly Taint[] = []): readonly Taint[] => {
  const [, key, value, effect = ''] = TAINT.exec(text) ?? [];
  if (key === undefined || !TAINT_EFFECTS.some((one) => one === effect))
    throw new InvalidArgumentError(`Give key=value:effect, with the effect ${TAINT_EFFECTS.join(', ')}.`);
  return [...before, { key, ...(value === undefined ? {} : { value }), effect }];
};

/** Validated and sent as written; the server parses it too. */
const durationText = (text: string): string => {
  duration(text);
  return text;
};

export const addPoolOptions = (command: Command): Command =>
  command
    .option('--replicas <count>', 'number of workers (default: 1)', integerBetween(0, REPLICAS_MAX))
    .option(
      '--min <count>',
      'minimum number of workers for autoscaling; requires --max, excludes --replicas',
      integerBetween(1, REPLICAS_MAX),
    )
    .option(
      '--max <count>',
      'maximum number of workers for autoscaling; requires --min',
      integerBetween(1, REPLICAS_MAX),
    )
    .option('--connection <name>', "connection that provides the machines (default: the control plane's)")
    .option('--machine-type <name>', "machine size (default: the control plane's)")
    .option('--image <name>', "image of the machines (default: the connection's)")
    .option('--root-disk-type <type>', 'disk type, as the provider names it')
    .option('--root-disk-size <gb>', 'disk size in GB')
    .option('--zone <zone>', 'zone over which nodes are spread (repeatable; default: all zones)', collected)
    .option('--label <key=value>', 'applied to the nodes of the pool (repeatable)', assignments('key=value'))
    .option('--taint <key=value:effect>', 'applied to the nodes of the pool (repeatable)', taints)
    .addOption(
      new Option('--strategy <name>', 'how nodes change to another version or other machines').choices(
        ROLLOUT_STRATEGIES,
      ),
    )
    .option('--max-surge <count>', 'extra nodes during a rollout: a number or a percentage', share)
    .option(
      '--max-unavailable <count>',
      'nodes that may be unavailable during a rollout: a number or a percentage',
      share,
    )
    .addOption(
      new Option('--delete-policy <name>', 'which of equally healthy nodes is removed first').choices(DELETE_POLICIES),
    )
    .option('--min-ready <duration>', 'how long a node must be Ready to be available', duration)
    .addOption(
      new Option('--remediation <strategy>', 'how unhealthy nodes are remediated').choices(REMEDIATION_STRATEGIES),
    )
    .option(
      '--unhealthy-after <duration>',
      'how long a node may be NotReady or silent before it is unhealthy',
      durationText,
    )
    .option('--startup-timeout <duration>', 'how long a machine may take to become a Ready node', durationText)
    .option(
      '--max-unhealthy <count>',
      'suspend remediation while more nodes than this are unhealthy: a number or a percentage',
      share,
    );

type Fields = Readonly<Record<string, unknown>>;

/** Omits undefined fields; undefined if there are no others. */
const given = (fields: Fields): Fields | undefined => {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

const sizeOf = ({ replicas, min, max }: PoolFlags): Fields => {
  if (min === undefined && max === undefined) return { replicas };
  if (min === undefined || max === undefined) throw usageFailure('--min and --max belong together');
  if (replicas !== undefined)
    throw usageFailure(
      '--replicas and --min exclude each other',
      'A pool with bounds begins with its minimum; scale it within them.',
    );
  return { autoscaling: { min, max } };
};

const minReadySecondsOf = (minReady: number | undefined): number | undefined => {
  if (minReady === undefined) return undefined;
  const seconds = Math.round(minReady / MS_PER_SECOND);
  if (seconds > MIN_READY_SECONDS_MAX) throw usageFailure('--min-ready is at most a day');
  return seconds;
};

/** The fields of a pool in a manifest. */
export const poolFieldsOf = (flags: PoolFlags): Fields =>
  given({
    ...sizeOf(flags),
    connection: flags.connection,
    machineType: flags.machineType,
    image: flags.image,
    rootDisk: given({ type: flags.rootDiskType, size: flags.rootDiskSize }),
    zones: flags.zone,
    labels: flags.label && Object.fromEntries(flags.label.map(({ name, value }) => [name, value])),
    taints: flags.taint,
    rollout: given({
      strategy: flags.strategy,
      maxSurge: flags.maxSurge,
      maxUnavailable: flags.maxUnavailable,
    }),
    deletePolicy: flags.deletePolicy,
    minReadySeconds: minReadySecondsOf(flags.minReady),
    health: given({
      remediation: flags.remediation,
      unhealthyAfter: flags.unhealthyAfter,
      startupTimeout: flags.startupTimeout,
      maxUnhealthy: flags.maxUnhealthy,
    }),
  }) ?? {};
