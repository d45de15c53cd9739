import type { Command } from 'commander';
import { eventsOf, followEvents } from '../api/streams.js';
import type { Api } from '../api/api.js';
import type { ClusterAt, EventView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { collected, integerBetween, since as sinceParser, type Since } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { stoppedFollowing } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { beginOf } from './begin.js';
import { eventLine } from './event.line.js';
import { refuseUnknownNode } from './known.node.effects.js';
import { mentions } from './mentions.js';
import { stringify } from 'yaml';

const TAIL_MAX = 100_000;

interface EventsOptions {
  readonly follow?: true;
  readonly since?: Since;
  readonly tail?: number;
  readonly type?: readonly string[];
  readonly node?: string;
}

export const addEventCommands = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'events <cluster>',
    summary: 'Print the events of a cluster',
    description:
      'Print the events of a cluster from the log, oldest first, including those of earlier clusters with the same name.',
    examples: [
      ['fairlead events demo', 'Print all events so far'],
      ['fairlead events demo --tail 20', 'Print the latest 20 events'],
      ['fairlead events demo --follow', 'Print new events, from now on, until Ctrl-C'],
      ['fairlead events demo --follow --tail 20', 'Print the latest 20 events first'],
      ['fairlead events demo --follow --since 0', 'Print all events first'],
      ['fairlead events demo --since 120 --output json', 'Print the events after sequence 120'],
      ['fairlead events demo --since 15m', 'Print the events of the last 15 minutes'],
      ['fairlead events demo --node demo-w-2-k3x9q', 'Print the events of a node'],
      ['fairlead events demo --type NodeLost --type NodeReady --follow', 'Follow nodes that are lost and return'],
    ],
  })
    .option('-f, --follow', 'print new events from now on; reconnects automatically')
    .option('--tail <count>', 'only the latest events, so many of them', integerBetween(0, TAIL_MAX))
    .option(
      '--since <moment>',
      'only events after this sequence, since this time, or of the last e.g. 15m',
      sinceParser,
    )
    .option('--type <type>', 'only events of this type (repeatable)', collected)
    .option('--node <node>', 'only events that this node reported or that name it')
    .action(runs(io, events));
};

const events = async (
  session: Session,
  name: string,
  { follow, since, tail, type: types = [], node }: EventsOptions,
): Promise<CommandOutput | undefined> => {
  const at = clusterAt(session, name);
  const { io, api } = session;
  if (node !== undefined) await refuseUnknownNode(session, at, node);
  const { seq, time } = beginOf(since ?? 0, io);
  const isWanted = (event: EventView): boolean =>
    Date.parse(event.time) >= time && (node === undefined || mentions(event, node));
  if (follow === true) return followed(session, at, { types, since, tail, isWanted });
  const found = (await eventsOf(api, at, { since: seq, types })).filter(isWanted);
  return eventsAnswer(tail === undefined ? found : latest(found, tail));
};

interface Followed {
  readonly since: Since | undefined;
  readonly tail: number | undefined;
  readonly types: readonly string[];
  readonly isWanted: (event: EventView) => boolean;
}

/** Follows events from now, or from an earlier moment if one is given. */
const followed = async (
  session: Session,
  at: ClusterAt,
  { types, since, tail, isWanted }: Followed,
): Promise<undefined> => {
  const { api, io } = session;
  const print = (event: EventView): void => io.out(eventText(event, session));
  const { seq } = beginOf(since ?? 0, io);
  let after = since === undefined && tail === undefined ? await latestSeq(api, at) : seq;
  if (tail !== undefined) {
    const found = await eventsOf(api, at, { since: seq, types });
    for (const event of latest(found.filter(isWanted), tail)) print(event);
    after = found.at(-1)?.seq ?? seq;
  }
  io.err(
    `Waiting for new events of ${at.cluster} ${tail === undefined && since === undefined ? `after ${after} ` : ''}(Ctrl-C ends it) ...\n`,
  );
  for await (const event of followEvents(api, at, { since: after, types }, io.interrupts.first))
    if (isWanted(event)) print(event);
  if (io.interrupts.first.aborted) throw stoppedFollowing();
  return undefined;
};

const latest = (events: readonly EventView[], count: number): readonly EventView[] =>
  count === 0 ? [] : events.slice(-count);

/**
 * The sequence of the latest event about the cluster. Starts from the one in the cluster's view, which is usually near.
 */
const latestSeq = async (api: Api, at: ClusterAt): Promise<number> => {
  const since = (await unlessUnknown(api.get('/ns/{namespace}/clusters/{cluster}', at)))?.lastSeq ?? 0;
  return (await eventsOf(api, at, { since })).at(-1)?.seq ?? since;
};

/** One event as a separate document: a line of text or JSON, or a YAML document. */
const eventText = (event: EventView, { format, io }: Session): string => {
  switch (format) {
    case 'json':
      return `${JSON.stringify(event)}\n`;
    case 'yaml':
      return `---\n${stringify(event)}`;
    case 'table':
      return `${eventLine(event, io.outColumns())}\n`;
    case 'name':
      return `${event.type}\n`;
  }
};

const eventsAnswer = (items: readonly EventView[]): CommandOutput => ({
  data: items,
  table: (columns) =>
    items.length === 0 ? 'There are no events.' : items.map((item) => eventLine(item, columns)).join('\n'),
  names: items.map(({ type }) => type),
});
