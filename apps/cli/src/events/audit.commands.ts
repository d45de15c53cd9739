import type { Command } from 'commander';
import { auditPages } from '../api/streams.js';
import type { AuditView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { integerBetween, since as sinceParser, type Since } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { answerText, type CommandOutput } from '../output/format.js';
import { GrowingTable, optional, prose } from '../output/table.js';
import { wrappedLines } from '../output/wrap.js';
import { beginOf } from './begin.js';
import { addDiff } from './diff.commands.js';
import { traceOf } from './trace.js';
import { traceText } from './trace.text.js';

export const addAuditCommands = (program: Command, io: Io): void => {
  const audit = addGroup(program, 'audit', 'Show, compare, trace and verify the history of a cluster');
  addShow(audit, io);
  addTrace(audit, io);
  addDiff(audit, io);
  addVerify(audit, io);
};

const addShow = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'show <cluster>',
    isDefault: true,
    summary: 'Show who did what, when, and for which cause',
    description:
      'Replay the history of a cluster from the log: each event with its actor and its cause. A table is printed page by page, JSON and YAML as one document.',
    examples: [
      ['fairlead audit demo', 'Print the whole history'],
      ['fairlead audit demo --since 24h', 'Print the last day of it'],
      ['fairlead audit demo --actor user/ci', 'Print what a token requested'],
      ['fairlead audit demo --output json', 'Include the chain of causes of each event'],
    ],
  })
    .option(
      '--since <moment>',
      'only events after this sequence, since this time, or of the last e.g. 15m',
      sinceParser,
      0,
    )
    .option('--actor <actor>', 'only events of this actor: a whole name, or one without its #id')
    .action(runs(io, showAudit));
};

interface ShowOptions {
  readonly since: Since;
  readonly actor?: string;
}

type Entry = AuditView['items'][number];

const isWanted = ({ since, actor }: ShowOptions, io: Io): ((entry: Entry) => boolean) => {
  const { seq, time } = beginOf(since, io);
  const isActor = (name: string): boolean => actor === undefined || name === actor || name.startsWith(`${actor}#`);
  return (entry) => entry.seq > seq && Date.parse(entry.time) >= time && isActor(entry.actor);
};

/** Printed page by page as text. json and yaml are a single document, printed at the end. */
const showAudit = async (session: Session, name: string, which: ShowOptions): Promise<CommandOutput | undefined> => {
  const { io, format } = session;
  const wanted = isWanted(which, io);
  const pages = auditPages(session.api, clusterAt(session, name));
  if (format === 'json' || format === 'yaml') {
    const whole = await wholeAudit(pages);
    return { data: whole && { ...whole, items: whole.items.filter(wanted) }, table: '', names: [] };
  }
  const table = new GrowingTable(
    ['seq', 'time', optional('actor', 2), optional('because of', 3), prose('what')],
    io.outColumns(),
  );
  let isEmpty = true;
  for await (const page of pages) {
    const items = page.items.filter(wanted);
    if (items.length === 0) continue;
    isEmpty = false;
    io.out(`${format === 'name' ? items.map(({ type }) => type).join('\n') : table.text(items.map(auditRow))}\n`);
  }
  if (isEmpty && format === 'table') io.out('No history.\n');
  if (format === 'table') for (const line of table.leftOutText()) io.out(`${line}\n`);
  return undefined;
};

const auditRow = ({ seq, time, actor, sentence, because }: Entry): readonly string[] => [
  String(seq),
  time,
  actor,
  because[0] === undefined ? '' : `${because[0].type} (${because[0].seq})`,
  sentence,
];

const wholeAudit = async (pages: AsyncIterable<AuditView>): Promise<AuditView | undefined> => {
  let whole: AuditView | undefined;
  for await (const page of pages) {
    const verification = verificationOf(whole, page);
    whole = { ...page, items: [...(whole?.items ?? []), ...page.items], verification };
  }
  return whole;
};

/** Merges the verifications of all pages: a hash chain that continues is counted once. */
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

const addTrace = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'trace <cluster>',
    summary: 'Show the causes and consequences of an event',
    description:
      'Show the chain of causes of an event, starting at the original request, and everything that followed from it. The sequence is the first column of "fairlead events".',
    examples: [
      ['fairlead audit trace demo 58', 'Show why an event happened, and what followed'],
      ['fairlead audit trace demo 58 --output json | jq .causes', 'Print the causes as JSON'],
    ],
  })
    .argument('<seq>', 'its sequence in the log', integerBetween(1, Number.MAX_SAFE_INTEGER))
    .action(runs(io, trace));
};

const trace = async (session: Session, name: string, seq: number): Promise<CommandOutput> => {
  const history = await wholeAudit(auditPages(session.api, clusterAt(session, name)));
  const found = traceOf(history?.items ?? [], seq);
  if (found === undefined) {
    throw new CliFailure('not-found', {
      code: 'event.unknown',
      message: `The history of ${name} has no event ${seq}`,
      help: `See its sequences with "fairlead events ${name}".`,
    });
  }
  return {
    data: found,
    table: (columns) => wrappedLines(traceText(found).split('\n'), columns).join('\n'),
    names: [...found.causes, found.event].map(({ seq: of }) => String(of)),
  };
};

const addVerify = (audit: Command, io: Io): void => {
  addCommand(audit, {
    usage: 'verify <cluster>',
    summary: 'Verify the hash chains of a history',
    description:
      'Verify the hash chains of a history. If an event was changed or is missing, print its sequence and exit with 1.',
    examples: [['fairlead audit verify demo', 'Verify that no event was changed or removed']],
  }).action(runs(io, verify));
};

/** Keeps only the data for the verification, not the pages. */
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

const verify = async (session: Session, name: string): Promise<CommandOutput | undefined> => {
  const verification = await verificationOfAll(auditPages(session.api, clusterAt(session, name)));
  const { events: count, streams, faults, intact } = verification;
  if (intact) {
    return {
      data: verification,
      table: `${count} events in ${streams} hash chains: no event was changed or is missing.`,
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
