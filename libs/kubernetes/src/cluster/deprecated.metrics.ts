import type { DeprecatedApiView } from '../cluster.ports.js';

const METRIC = /^apiserver_requested_deprecated_apis\{([^}]*)\} (\S+)$/gm;

const labelsOf = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]));

/** Reads the gauge from Prometheus' text format, as an API server's /metrics has it. */
export const deprecatedApisIn = (metrics: string): readonly DeprecatedApiView[] =>
  [...metrics.matchAll(METRIC)]
    .filter(([, , value]) => Number(value) > 0)
    .map(([, labels = '']) => labelsOf(labels))
    .map((labels) => ({
      group: labels.get('group') ?? '',
      version: labels.get('version') ?? '',
      resource: labels.get('resource') ?? '',
      // Endpoints, of Kubernetes 1.33, are deprecated and stay: their label is empty.
      removedIn: labels.get('removed_release') || null,
    }));
