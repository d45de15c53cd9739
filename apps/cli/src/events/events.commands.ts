import type { Command } from 'commander';
import type { EventView } from '../api/api.ports.js';
import { addCommand, runs } from '../command/command.js';
import { collected, integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { eventLine } from './event.line.js';
import { mentions } from './mentions.js';
import { stringify } from 'yaml';

interface EventsOptions {
  readonly follow?: true;
  readonly since: number;
  readonly type?: readonly string[];
  readonly node?: string;
}

export const addEventCommands = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'events <cluster>',
    summary: 'Print what happened to a cluster, one line per event',
    description:
      'Print the events of a cluster from the log, oldest first; those of all clusters that ever had the name.',
    examples: [
      ['fairlead events demo', 'Everything so far'],
      ['fairlead events demo --follow', 'And what happens from now on, until Ctrl-C'],
      ['fairlead events demo --since 120 --output json', 'Those after sequence 120'],
      ['fairlead events demo --node demo-w-2-k3x9q', 'Those of a node'],
      ['fairlead events demo --type NodeLost --type NodeReady --follow', 'Nodes that are lost and come back'],
    ],
  })
    .option('-f, --follow', 'go on with new ones as they happen; a lost connection is taken up again')
    .option('--since <seq>', 'only those after this sequence', integerBetween(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--type <type>', 'only events of this type; may be given several times', collected)
    .option('--node <node>', 'only events that the node reported or that name it')
    .action(runs(io, events));
};

const events = async (
  session: Session,
  name: string,
  { follow, since, type: types = [], node }: EventsOptions,
): Promise<Answer | undefined> => {
  const at = clusterAt(session, name);
  const { io, api } = session;
  const isWanted = (event: EventView): boolean => node === undefined || mentions(event, node);
  if (follow !== true) return eventsAnswer((await api.events(at, { since, types })).filter(isWanted));
  for await (const event of api.followEvents(at, { since, types }, io.interrupts.first))
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
