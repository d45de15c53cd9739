import * as z from 'zod';
import type { ClusterUid, SecretRef } from '../ids.js';
import type { JoinTokenId } from './join.tokens.js';

/** The machine type of hosts that join by themselves. */
export const JOINED_MACHINE_TYPE = 'join.any';

/** Placeholder for the join command in user-provided bootstrap data; a single word in both shell and YAML. */
export const JOIN_MARKER = '__FAIRLEAD_JOIN__';
/** The user data limit of the clouds. */
const DATA_LENGTH_MAX = 16_384;

export const BOOTSTRAP_FORMATS = ['cloud-config', 'shell'] as const;
export const BootstrapFormat = z.enum(BOOTSTRAP_FORMATS);
export type BootstrapFormat = z.infer<typeof BootstrapFormat>;

const FIRST_LINES: Readonly<Record<BootstrapFormat, RegExp>> = { 'cloud-config': /^#cloud-config\s*\n/, shell: /^#!/ };

/** undefined: neither format. */
export const formatOfBootstrapData = (data: string): BootstrapFormat | undefined =>
  BOOTSTRAP_FORMATS.find((format) => FIRST_LINES[format].test(data));

const hasMarkerOnce = (data: string): boolean => data.split(JOIN_MARKER).length === 2;

const GivenData = z
  .string()
  .max(DATA_LENGTH_MAX)
  .refine((data) => formatOfBootstrapData(data) !== undefined, { error: 'must begin with #cloud-config or #!' })
  .refine(hasMarkerOnce, { error: `must have ${JOIN_MARKER} exactly once, where the host joins` });

export const PoolBootstrap = z
  .strictObject({
    by: z
      .literal('userData')
      .optional()
      .describe(
        'New machines of the pool get its bootstrap data as user data and join by themselves: nothing opens them by SSH. Left out: by SSH, where machines are made',
      ),
    data: GivenData.optional().describe(
      `What a host of the pool runs first: cloud-config or a script, in which ${JOIN_MARKER} stands for the command that joins. It is part of the manifest, so it must have no secrets. Left out: it is generated`,
    ),
  })
  .refine(({ by, data }) => by !== undefined || data !== undefined, { error: 'must have by or data' });
export type PoolBootstrap = z.infer<typeof PoolBootstrap>;

const BOOTSTRAP_KEYS_OWNER = 'bootstrap';
/** Those of all clusters, as one token of a subject. */
export const BOOTSTRAP_KEYS_OWNERS = `${BOOTSTRAP_KEYS_OWNER}.*` as const;

/** The secret with the key of the tokens of this id. */
export const bootstrapKeyRef = (admission: JoinTokenId): SecretRef => `gateway.bootstrap.${admission}` as SecretRef;

/** Owner of the key that seals the keys of a cluster's pools: it is destroyed with the cluster. */
export const bootstrapKeysOwner = (uid: ClusterUid): string => `${BOOTSTRAP_KEYS_OWNER}.${uid}`;

/** A pool's token is valid in its window and the next one: at most 15 minutes. */
export const BOOTSTRAP_WINDOW_MS = 450_000;
const WINDOWS_VALID = 2;

export const bootstrapWindowAt = (nowMs: number): number => Math.floor(nowMs / BOOTSTRAP_WINDOW_MS);

/** The windows whose tokens are valid, latest first. */
export const bootstrapWindowsAt = (nowMs: number): readonly number[] =>
  Array.from({ length: WINDOWS_VALID }, (_, before) => bootstrapWindowAt(nowMs) - before);

/** When the token of a window expires. */
export const bootstrapWindowEnd = (window: number): number => (window + WINDOWS_VALID) * BOOTSTRAP_WINDOW_MS;

interface ComposedData {
  /** One shell line that contains a token. */
  readonly command: string;
  readonly format: BootstrapFormat;
  /** From the manifest; undefined: generated. */
  readonly given: string | undefined;
  /** `default/demo` */
  readonly cluster: string;
  readonly pool: string;
  readonly expiresAt: string;
}

/** Without characters that are special in a shell or in YAML. */
const oneWord = (command: string): string => `echo ${Buffer.from(command).toString('base64')} | base64 -d | sh`;

/** The script or cloud-config that a host runs at its first boot to join. User-provided data keep their format. */
export const bootstrapDataOf = ({ command, format, given, cluster, pool, expiresAt }: ComposedData): string => {
  if (given !== undefined) return given.replace(JOIN_MARKER, () => oneWord(command));
  const about = `# Joins pool ${pool} of the cluster ${cluster} of Fairlead. Its token expires at ${expiresAt}.`;
  return format === 'shell'
    ? `#!/bin/sh\n${about}\n${oneWord(command)}\n`
    : `#cloud-config\n${about}\nruncmd:\n  - ${oneWord(command)}\n`;
};
