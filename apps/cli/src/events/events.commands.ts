import type { Command } from 'commander';
import type { AuditView, EventView } from '../api/api.ports.js';
import { clusterAt } from '../command/session.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { integerBetween } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { answerText, type Answer } from '../output/format.js';
import { GrowingTable } from '../output/table.js';
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
    summary: 'Print what happened to a cluster, one line per event',
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
    description:
      'Replay the history of a cluster from the log: each event with who caused it and what led to it. A table is printed page by page, json and yaml as one document.',
    examples: [
      ['fairlead audit demo', 'The whole history'],
      ['fairlead audit demo --output json', 'With the chain of causes of each event'],
    ],
  }).action(runs(io, showAudit));
};

/** Page by page for people; json and yaml are one document, so they come when all of it is there. */
const showAudit = async (session: Session, name: string): Promise<Answer | undefined> => {
  const { io, format } = session;
  const pages = session.api.auditPages(clusterAt(session, name));
  if (format === 'json' || format === 'yaml') return { data: await wholeAudit(pages), table: '', names: [] };
  const table = new GrowingTable(['seq', 'time', 'actor', 'what', 'because of']);
  let isEmpty = true;
  for await (const { items } of pages) {
    if (items.length === 0) continue;
    isEmpty = false;
    io.out(`${format === 'name' ? items.map(({ type }) => type).join('\n') : table.text(items.map(auditRow))}\n`);
  }
  if (isEmpty && format === 'table') io.out('No history.\n');
  return undefined;
};

const auditRow = ({ seq, time, actor, sentence, because }: AuditView['items'][number]): readonly string[] => [
  String(seq),
  time,
  actor,
  sentence,
  because[0] === undefined ? '' : `${because[0].type} (${because[0].seq})`,
];

const wholeAudit = async (pages: AsyncIterable<AuditView>): Promise<AuditView | undefined> => {
  let whole: AuditView | undefined;
  for await (const page of pages) {
    const verification = verificationOf(whole, page);
    whole = { ...page, items: [...(whole?.items ?? []), ...page.items], verification };
  }
  return whole;
};

/** Of all pages so far: a hash chain that goes on is counted once. */
const verificationOf = (before: AuditView | undefined, page: AuditView): AuditView['verification'] => {
  if (before === undefined) return page.verification;
  const faults = [...before.verification.faults, ...page.verification.faults];
  const contexts = [...before.items, ...page.items, ...faults].map(({ context }) => context);
  return {
    intact: faults.length === 0,
    events: before.verification.events + page.verification.events,
    streams: new Set(contexts).size,
    faults,
  };
};

const addVerify = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'verify <cluster>',
    summary: 'Check the hash chains of a history',
    description:
      'Compute the hash chains of a history again. A changed or missing event ends with exit code 1 and its sequence.',
    examples: [['fairlead audit verify demo', 'Is anything changed or missing?']],
  }).action(runs(io, verify));
};

/** Of the pages only what the verification needs is kept. */
const verificationOfAll = async (pages: AsyncIterable<AuditView>): Promise<AuditView['verification']> => {
  const contexts = new Set<string>();
  const faults: AuditView['verification']['faults'] = [];
  let [events, streams, count] = [0, 0, 0];
  for await (const { items, verification } of pages) {
    for (const { context } of [...items, ...verification.faults]) contexts.add(context);
    faults.push(...verification.faults);
    events += verification.events;
    streams = verification.streams;
    count += 1;
  }
  return { intact: faults.length === 0, events, streams: count === 1 ? streams : contexts.size, faults };
};

const verify = async (session: Session, name: string): Promise<Answer | undefined> => {
  const verification = await verificationOfAll(session.api.auditPages(clusterAt(session, name)));
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
