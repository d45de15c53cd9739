import { randomUUID } from 'node:crypto';
import { Option, type Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { duration, time } from '../command/parsers.js';
import { clusterAt } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

interface ExtendOptions {
  readonly until?: string;
  /** Milliseconds. */
  readonly by?: number;
}

export const addExtend = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'extend <cluster>',
    summary: 'Move the end of a cluster',
    description:
      'Move the end of the lease of a cluster, as a change of spec.lease.endsAt in its manifest does. Where machines are reserved, their provider is asked for the capacity again; if it denies it, the cluster keeps the end that it had, and "fairlead cluster describe" shows why.',
    examples: [
      ['fairlead cluster extend demo --by 48h', 'Two days longer'],
      ['fairlead cluster extend demo --until 2026-12-24T18:00:00Z', 'Until this time'],
    ],
  })
    .addOption(new Option('--until <time>', 'the new end').argParser(time).conflicts('by'))
    .addOption(new Option('--by <duration>', 'how much later than now declared').argParser(duration))
    .action(
      runs(io, async (session, name: string, { until, by = 0 }: ExtendOptions) => {
        if (until === undefined && by === 0) throw usageFailure('Say how long: --by 48h, or --until a time.');
        const { api } = session;
        const at = clusterAt(session, name);
        const { apiVersion, kind, metadata, spec } = await api.manifest(at);
        const { lease } = spec;
        if (lease === undefined)
          throw usageFailure(`The cluster ${name} has no end that could be moved. Declare spec.lease in its manifest.`);
        const endsAt = until ?? new Date(Date.parse(lease.endsAt) + by).toISOString();
        const { namespace, resourceVersion } = metadata;
        const changed = {
          ...{ apiVersion, kind, metadata: { name, namespace, resourceVersion } },
          spec: { ...spec, lease: { ...lease, endsAt } },
        };
        const { manifest } = await api.putManifest(at, changed, { dryRun: false, idempotencyKey: randomUUID() });
        return { data: manifest, table: `cluster/${name}: its lease is to end at ${endsAt}`, names: [name] };
      }),
    );
};
