import type { ServerResponse } from 'node:http';
import { groupVersion, type ResourceDefinition } from '../resources/resource.js';
import type { ResourceRequest } from './request.info.js';

/** Requests of deprecated API versions, which an upgrade's preflight reads from the metrics. */
export class DeprecatedRequests {
  private readonly seen = new Set<string>();

  /** Records a request, and adds the API server's warning to the response. */
  note(resource: ResourceDefinition, { version, subresource = '' }: ResourceRequest, response: ServerResponse): void {
    const deprecation = resource.deprecated.find((candidate) => candidate.version === version);
    if (deprecation === undefined) return;
    const { group, plural, kind } = resource;
    const labels = { group, removed_release: deprecation.removed, resource: plural, subresource, version };
    const text = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
    this.seen.add(`apiserver_requested_deprecated_apis{${text.join(',')}} 1`);
    const end = deprecation.removed === '' ? '' : `, unavailable in v${deprecation.removed}+`;
    const other = deprecation.use === undefined ? '' : `; use ${deprecation.use}`;
    const words = `${groupVersion(group, version)} ${kind} is deprecated in v${deprecation.since}+${end}${other}`;
    response.setHeader('warning', `299 - "${words}"`);
  }

  /** The metric in the format of /metrics. The simulation has no other metrics. */
  metrics(): string {
    return [
      "# A simulation by the Fairlead lab: of the API server's metrics there is only this one.",
      '# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested.',
      '# TYPE apiserver_requested_deprecated_apis gauge',
      ...this.seen,
      '',
    ].join('\n');
  }
}
