import { parseYaml } from '@fairlead/parsers';
import { InvalidArgumentError } from 'commander';
import type { UpgradeFields } from '../api/views.js';
import { usageFailure, wordsOf } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';

/** The options that say what must change, and how. */
export interface UpgradeFlags {
  readonly to?: string;
  readonly software?: readonly Assignment[];
  readonly certificates?: true;
  readonly reboot?: true;
  readonly pool?: readonly string[];
  /** Commander's `--no-workers` and `--no-control-plane`. */
  readonly workers?: boolean;
  readonly controlPlane?: boolean;
  readonly maxUnavailable?: number | string;
  readonly maxSurge?: number | string;
  readonly canary?: boolean;
  readonly soak?: number;
  readonly drainTimeout?: number;
  readonly onDrainTimeout?: string;
  readonly forceUntil?: string;
  readonly override?: readonly Assignment[];
  readonly waitForChecks?: true;
}

/** `name=value`. */
export interface Assignment {
  readonly name: string;
  readonly value: string;
}

const ASSIGNMENT = /^([^=\s]+)=(.+)$/;

/** Collects an option `name=value` that may be given several times. */
export const assignments =
  (form: string) =>
  (text: string, before: readonly Assignment[] = []): readonly Assignment[] => {
    const [, name, value] = ASSIGNMENT.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new InvalidArgumentError(`Give ${form}.`);
    return [...before, { name, value }];
  };

/** `2` or `25%`. */
export const share = (text: string): number | string => {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  if (/^(100|[1-9]?\d)%$/.test(text)) return text;
  throw new InvalidArgumentError('Give a number of nodes, or a share like 25%.');
};

const MS_PER_SECOND = 1_000;
const seconds = (durationMs: number | undefined): number | undefined =>
  durationMs === undefined ? undefined : Math.round(durationMs / MS_PER_SECOND);

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without what was not said. */
const said = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const workersOf = (flags: UpgradeFlags): Fields =>
  said({
    maxUnavailable: flags.maxUnavailable,
    maxSurge: flags.maxSurge,
    canary: flags.canary === false ? false : undefined,
    soakSeconds: seconds(flags.soak),
    drainTimeoutSeconds: seconds(flags.drainTimeout),
    onDrainTimeout: flags.onDrainTimeout,
    forceUntil: flags.forceUntil,
  });

/** The strategy of a document, with the options over it. */
const strategyOf = (document: Fields | undefined, flags: UpgradeFlags): Fields | undefined => {
  const workers = workersOf(flags);
  if (document === undefined && Object.keys(workers).length === 0) return undefined;
  const before = document?.['workers'];
  return { ...document, workers: { ...(isFields(before) ? before : {}), ...workers } };
};

const poolsOf = ({ pool, workers }: UpgradeFlags): UpgradeFields['pools'] => {
  if (workers === false && pool !== undefined) throw usageFailure('--no-workers and --pool exclude each other');
  return workers === false ? [] : pool === undefined ? undefined : [...pool];
};

/** The body of POST .../upgrades. What is wrong in it is the server's to say. */
export const upgradeFields = (flags: UpgradeFlags, strategy?: Fields): UpgradeFields => {
  const software = flags.software?.map(({ name, value }) => [name, value] as const);
  return said({
    version: flags.to,
    software: software && Object.fromEntries(software),
    renewCertificates: flags.certificates,
    reboot: flags.reboot,
    pools: poolsOf(flags),
    controlPlane: flags.controlPlane === false ? false : undefined,
    strategy: strategyOf(strategy, flags),
    waitForChecks: flags.waitForChecks,
    overrides: flags.override?.map(({ name, value }) => ({ rule: name, reason: value })),
  });
};

/** A strategy in YAML or JSON. */
export const parseStrategy = (text: string, from: string): Fields => {
  try {
    const document: unknown = parseYaml(text, FILE_LIMITS);
    if (isFields(document)) return document;
  } catch (error) {
    throw usageFailure(`${from} is neither YAML nor JSON: ${wordsOf(error)}`);
  }
  throw usageFailure(`${from} holds no strategy`, 'It holds fields like workers, pools, gates, probes and windows.');
};
