import type { Command } from 'commander';
import type { AuditView, EventView } from '../api/api.ports.js';
import { clusterAt } from '../cluster/cluster.commands.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { integerBetween } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { answerText, type Answer } from '../output/format.js';
import { stringify } from 'yaml';

interface EventsOptions {
  readonly follow?: true;
  readonly since: number;
}

export const addEventCommands = (program: Command, io: Io): void => {
  addEvents(program, io);
  const audit = addGroup(program, 'audit', 'Replay the history of a cluster, and prove that it is whole');
  addAudit(audit, io);
  addVerify(audit, io);
};

const addEvents = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'events <cluster>',
    summary: 'Print what happened to a cluster, one line an event',
    description:
      'Print the events of a cluster from the log, oldest first; those of all clusters that ever had the name.',
    examples: [
      ['fairlead events demo', 'Everything so far'],
      ['fairlead events demo --follow', 'And what happens from now on, until Ctrl-C'],
      ['fairlead events demo --since 120 --output json', 'Those after sequence 120, one JSON object a line'],
    ],
  })
    .option('-f, --follow', 'go on with new ones as they happen; a lost connection is taken up again')
    .option('--since <seq>', 'only those after this sequence', integerBetween(0, Number.MAX_SAFE_INTEGER), 0)
    .action(runs(io, events));
};

const events = async (
  session: Session,
  name: string,
  { follow, since }: EventsOptions,
): Promise<Answer | undefined> => {
  const at = clusterAt(session, name);
  const { io, api } = session;
  if (follow !== true) return eventsAnswer(await api.events(at, since));
  for await (const event of api.followEvents(at, since, io.interrupts.first)) io.out(eventText(event, session));
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

const SEQUENCE_WIDTH = 6;
const TYPE_WIDTH = 24;

const eventLine = ({ seq, time, type, actor, sentence }: EventView): string =>
  `${String(seq).padStart(SEQUENCE_WIDTH)}  ${time}  ${type.padEnd(TYPE_WIDTH)}  ${sentence}  (${actor})`;

const eventsAnswer = (items: readonly EventView[]): Answer => ({
  data: items,
  table: items.length === 0 ? 'There are no events.' : items.map(eventLine).join('\n'),
  names: items.map(({ type }) => type),
});

const addAudit = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'show <cluster>',
    isDefault: true,
    summary: 'Who did what, when, and because of what',
    description: 'Replay the history of a cluster from the log: each event with who caused it and what led to it.',
    examples: [
      ['fairlead audit demo', 'The whole history'],
      ['fairlead audit demo --output json', 'With the chain of causes of each event'],
    ],
  }).action(runs(io, async (session, name: string) => auditAnswer(await session.api.audit(clusterAt(session, name)))));
};

const auditAnswer = (audit: AuditView): Answer => ({
  data: audit,
  table: {
    columns: ['seq', 'time', 'actor', 'what', 'because of'],
    rows: audit.items.map(({ seq, time, actor, sentence, because }) => [
      String(seq),
      time,
      actor,
      sentence,
      because[0] === undefined ? '' : `${because[0].type} (${because[0].seq})`,
    ]),
    empty: 'There is no history.',
  },
  names: audit.items.map(({ type }) => type),
});

const addVerify = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'verify <cluster>',
    summary: 'Check the hash chains of a history',
    description:
      'Compute the hash chains of a history anew. A changed or missing event ends with exit code 1 and its sequence.',
    examples: [['fairlead audit verify demo', 'Is anything changed or missing?']],
  }).action(runs(io, verify));
};

const verify = async (session: Session, name: string): Promise<Answer | undefined> => {
  const { verification } = await session.api.audit(clusterAt(session, name));
  const { events: count, streams, faults, intact } = verification;
  if (intact) {
    return {
      data: verification,
      table: `${count} events in ${streams} hash chains: nothing is changed or missing.`,
      names: [name],
    };
  }
  if (session.format !== 'table')
    session.io.out(answerText({ data: verification, table: '', names: [name] }, session.format));
  throw new CliFailure('failed', {
    code: 'audit.not-intact',
    message: `The history of ${name} is not whole: ${faults.map(({ seq, context, fault }) => `event ${seq} (${context}): ${fault}`).join('; ')}`,
    help: 'Compare with a backup of the EVENTS stream; the log itself never changes an event.',
  });
};
