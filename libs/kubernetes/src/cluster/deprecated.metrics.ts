import type { DeprecatedApiView } from '../cluster.ports.js';

/** The gauge in Prometheus' text format, from an API server's /metrics. */
export const DEPRECATED_METRIC = 'apiserver_requested_deprecated_apis{';
const LINE = /^apiserver_requested_deprecated_apis\{([^}]*)\} (\S+)$/;

/** Sticky: a search for the next label would take time in proportion to the square of the length. */
const labelsOf = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/gy)].map(([, name = '', value = '']) => [name, value]));

/** Parses lines that begin with the name of the gauge. */
export const deprecatedApisIn = (lines: readonly string[]): readonly DeprecatedApiView[] =>
  lines
    .map((line) => LINE.exec(line))
    .filter((match) => match !== null && Number(match[2]) > 0)
    .map((match) => labelsOf(match?.[1] ?? ''))
    .map((labels) => ({
      group: labels.get('group') ?? '',
      version: labels.get('version') ?? '',
      resource: labels.get('resource') ?? '',
      // Endpoints is deprecated since Kubernetes 1.33 but will not be removed: its label is empty.
      removedIn: labels.get('removed_release') || null,
    }));
