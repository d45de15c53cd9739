import { randomUUID } from 'node:crypto';
import { Option, type Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { duration, time } from '../command/parsers.js';
import { clusterAt } from '../command/session.js';
import { usageFailure } from '../failures.js';
import { putManifest } from '../api/manifests.js';
import type { Io } from '../io/io.js';

interface ExtendOptions {
  readonly until?: string;
  /** Milliseconds. */
  readonly by?: number;
}

export const addExtend = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'extend <cluster>',
    summary: 'Extend the lease of a cluster',
    description:
      'Change the end of the lease of a cluster, like a change of spec.lease.endsAt in its manifest. If its machines are reserved, the provider must confirm the capacity; if it denies it, the lease keeps its end, and "fairlead cluster describe" shows the reason.',
    examples: [
      ['fairlead cluster extend demo --by 48h', 'Extend the lease by two days'],
      ['fairlead cluster extend demo --until 2026-12-24T18:00:00Z', 'Extend the lease until a given time'],
    ],
  })
    .addOption(new Option('--until <time>', 'new end of the lease (RFC 3339)').argParser(time).conflicts('by'))
    .addOption(new Option('--by <duration>', 'how long to extend the lease').argParser(duration))
    .action(
      runs(io, async (session, name: string, { until, by = 0 }: ExtendOptions) => {
        if (until === undefined && by === 0)
          throw usageFailure('Give --by with a duration, e.g. 48h, or --until with a time.');
        const { api } = session;
        const at = clusterAt(session, name);
        const { apiVersion, kind, metadata, spec } = await api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
        const { lease } = spec;
        if (lease === undefined)
          throw usageFailure(`The cluster ${name} has no lease. Declare spec.lease in its manifest.`);
        const endsAt = until ?? new Date(Date.parse(lease.endsAt) + by).toISOString();
        const { namespace, resourceVersion } = metadata;
        const changed = {
          ...{ apiVersion, kind, metadata: { name, namespace, resourceVersion } },
          spec: { ...spec, lease: { ...lease, endsAt } },
        };
        const { data } = await putManifest(api, at, changed, { key: randomUUID() });
        return {
          data,
          table: `The lease of ${name} will end at ${endsAt}, if a reservation does not prevent it.`,
          names: [name],
        };
      }),
    );
};
