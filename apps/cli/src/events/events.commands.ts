import type { Command } from 'commander';
import type { EventView } from '../api/api.ports.js';
import { addCommand, runs } from '../command/command.js';
import { collected, since as sinceParser, type Since } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { beginOf } from './begin.js';
import { eventLine } from './event.line.js';
import { refuseUnknownNode } from './known.node.effects.js';
import { mentions } from './mentions.js';
import { stringify } from 'yaml';

interface EventsOptions {
  readonly follow?: true;
  readonly since: Since;
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
      ['fairlead events demo --follow', 'Print new events until Ctrl-C'],
      ['fairlead events demo --since 120 --output json', 'Print the events after sequence 120'],
      ['fairlead events demo --since 15m', 'Print the events of the last 15 minutes'],
      ['fairlead events demo --node demo-w-2-k3x9q', 'Print the events of a node'],
      ['fairlead events demo --type NodeLost --type NodeReady --follow', 'Follow nodes that are lost and return'],
    ],
  })
    .option('-f, --follow', 'keep printing new events; reconnects automatically')
    .option(
      '--since <moment>',
      'only events after this sequence, since this time, or of the last e.g. 15m',
      sinceParser,
      0,
    )
    .option('--type <type>', 'only events of this type (repeatable)', collected)
    .option('--node <node>', 'only events that this node reported or that name it')
    .action(runs(io, events));
};

const events = async (
  session: Session,
  name: string,
  { follow, since, type: types = [], node }: EventsOptions,
): Promise<Answer | undefined> => {
  const at = clusterAt(session, name);
  const { io, api } = session;
  if (node !== undefined) await refuseUnknownNode(session, at, node);
  const { seq, time } = beginOf(since, io);
  const isWanted = (event: EventView): boolean =>
    Date.parse(event.time) >= time && (node === undefined || mentions(event, node));
  if (follow !== true) return eventsAnswer((await api.events(at, { since: seq, types })).filter(isWanted));
  for await (const event of api.followEvents(at, { since: seq, types }, io.interrupts.first))
    if (isWanted(event)) io.out(eventText(event, session));
  return undefined;
};

/** One event that stands for itself: a line of text, of JSON, or a YAML document. */
const eventText = (event: EventView, { format }: Session): string => {
  switch (format) {
    case 'json':
      return `${JSON.stringify(event)}\n`;
    case 'yaml':
      return `---\n${stringify(event)}`;
    case 'table':
      return `${eventLine(event)}\n`;
    case 'name':
      return `${event.type}\n`;
  }
};

const eventsAnswer = (items: readonly EventView[]): Answer => ({
  data: items,
  table: items.length === 0 ? 'There are no events.' : items.map(eventLine).join('\n'),
  names: items.map(({ type }) => type),
});
