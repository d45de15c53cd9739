import semver from 'semver';

/** Older servers accept the newer options that we depend on and silently ignore them. */
export const NATS_VERSION_MIN = '2.12.0';
export const NATS_API_LEVEL_MIN = 2;

/** The version in what `nats-server --version` says (`nats-server: v2.15.1`). */
export const parseNatsVersion = (output: string): string | undefined =>
  /\bv?(\d+\.\d+\.\d+(?:-[\w.]+)?)\b/.exec(output)?.[1];

/** Whether that server is new enough. A pre-release of a version counts as that version. */
export const isNewEnough = (version: string): boolean => {
  const release = semver.coerce(version);
  return release !== null && semver.gte(release, NATS_VERSION_MIN);
};

/** Newest first. */
export const byVersionDescending = (left: string, right: string): number =>
  semver.rcompare(semver.coerce(left) ?? '0.0.0', semver.coerce(right) ?? '0.0.0');
