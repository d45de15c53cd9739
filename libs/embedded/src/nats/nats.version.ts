import { compareVersions } from '@fairlead/contracts';

/** Older servers accept the newer options that Fairlead requires, but silently ignore them. */
export const NATS_VERSION_MIN = '2.12.0';
export const NATS_API_LEVEL_MIN = 2;

/** The version in the output of `nats-server --version` (`nats-server: v2.15.1`). */
export const parseNatsVersion = (output: string): string | undefined =>
  /\bv?(\d+\.\d+\.\d+(?:-[\w.]+)?)\b/.exec(output)?.[1];

/** Whether that server is new enough. A pre-release counts as its version. */
export const isNewEnough = (version: string): boolean => compareVersions(version, NATS_VERSION_MIN) >= 0;

/** Newest first. */
export const byVersionDescending = (left: string, right: string): number => compareVersions(right, left);
