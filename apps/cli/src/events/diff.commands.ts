import { Option, type Command } from 'commander';
import type { ClusterChanges } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { moment } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';

interface DiffFlags {
  readonly from: number | string;
  readonly to?: number | string;
}

type Changed = ClusterChanges['items'][number];
type Event = Changed['fields'][number]['event'];

export const addDiff = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'diff <cluster>',
    summary: 'Show what changed in a cluster between two moments, and which events changed it',
    description:
      'Compare a cluster at two moments of its history: declared fields, state, conditions, nodes and virtual addresses, each with the event that changed it. Pass the sequence of an event to "fairlead audit trace" for its causes.',
    examples: [
      ['fairlead audit diff demo --from 2026-11-21T08:00:00Z', 'Show what changed since a time'],
      ['fairlead audit diff demo --from 120 --to 185', 'Compare the cluster after two events'],
      ['fairlead audit diff demo --from 120 --output json', 'Print the changes as JSON'],
    ],
  })
    .addOption(new Option('--from <moment>', 'sequence of the log, or time').argParser(moment).makeOptionMandatory())
    .option('--to <moment>', 'sequence of the log, or time (default: now)', moment)
    .action(runs(io, diff));
};

const diff = async (session: Session, name: string, { from, to }: DiffFlags): Promise<CommandOutput> => {
  const changes = await session.api.get('/ns/{namespace}/clusters/{cluster}/changes', clusterAt(session, name), {
    query: { from, to },
  });
  return {
    data: changes,
    table: {
      columns: [
        ...['object', 'field', prose('before'), prose('after')],
        ...[optional('event', 1), optional('actor', 2), optional('time', 3)],
      ],
      rows: changes.items.flatMap(rowsOf),
      empty: 'Nothing changed.',
    },
    names: changes.items.map(({ kind, name: of }) => `${kind}/${of}`),
  };
};

/** One row per changed field, and one per created or deleted object. */
const rowsOf = ({ kind, name, change, fields }: Changed): readonly (readonly string[])[] => {
  const object = `${kind} ${name}`;
  if (change === 'changed')
    return fields.map(({ field, before, after, event }) => [
      object,
      field,
      before ?? '',
      after ?? '',
      ...eventCells(event),
    ]);
  const events = fields.flatMap(({ event }) => (event === null ? [] : [event]));
  const bySeq = events.toSorted((one, other) => one.seq - other.seq);
  return [[object, '', '', change, ...eventCells((change === 'added' ? bySeq[0] : bySeq.at(-1)) ?? null)]];
};

const eventCells = (event: Event): readonly string[] =>
  event === null ? ['', '', ''] : [`${event.type} (${event.seq})`, event.actor, event.time];
