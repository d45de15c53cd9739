import * as z from 'zod';
import { excuseOf, type Case, type Plan } from './cases.js';

/** The fields of ginkgo's JSON report that are used. */
const Spec = z.object({
  ContainerHierarchyTexts: z.array(z.string()).nullable(),
  LeafNodeText: z.string(),
  LeafNodeType: z.string(),
  State: z.string(),
  RunTime: z.number().describe('Nanoseconds'),
  Failure: z.object({ Message: z.string() }).optional(),
});
const Report = z.array(z.object({ SpecReports: z.array(Spec).nullable() }));

export interface Result {
  readonly name: string;
  readonly group: string;
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'not run';
  readonly seconds: number;
  /** The failure message, or the reason why the test skipped itself; empty if it passed. */
  readonly words: string;
}

/**
 * The results of these tests. A test that is missing from the report, pending, or skipped before it ran, was not run.
 */
export const resultsOf = (cases: readonly Case[], reports: readonly string[]): readonly Result[] => {
  const specs = new Map(
    reports
      .flatMap((text) => Report.parse(JSON.parse(text)))
      .flatMap(({ SpecReports }) => SpecReports ?? [])
      .filter(({ LeafNodeType }) => LeafNodeType === 'It')
      .filter(({ RunTime, State }) => RunTime > 0 || State !== 'skipped')
      .map((spec) => [[...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '), spec]),
  );
  return cases.map(({ name, group }) => {
    const spec = specs.get(name);
    const seconds = spec === undefined ? 0 : spec.RunTime / 1e9;
    return { name, group, outcome: outcomeOf(spec?.State), seconds, words: firstLine(spec?.Failure?.Message ?? '') };
  });
};

/** The other states of ginkgo (panicked, timedout, aborted, interrupted) are failures. */
const outcomeOf = (state: string | undefined): Result['outcome'] => {
  if (state === undefined || state === 'pending') return 'not run';
  return state === 'passed' || state === 'skipped' ? state : 'failed';
};

const WORDS_MAX = 200;
const firstLine = (text: string): string => (text.trim().split('\n')[0] ?? '').slice(0, WORDS_MAX);

export interface Subject {
  /** The Kubernetes version of the tests and of the cluster. */
  readonly version: string;
  readonly nodes: readonly { readonly name: string; readonly role: string; readonly system: string }[];
  /** Date of the run. */
  readonly date: string;
  readonly minutes: number;
}

/** The text of docs/reports/conformance.md. */
export const reportText = (
  subject: Subject,
  results: readonly Result[],
  { leftOut }: Pick<Plan, 'leftOut'>,
): string => {
  const of = (outcome: Result['outcome']) => results.filter((result) => result.outcome === outcome);
  const [passed, failed, skipped, notRun] = [of('passed'), of('failed'), of('skipped'), of('not run')];
  return [
    '# Conformance',
    '',
    '<!-- Written by `npm run conformance`. -->',
    '',
    `Kubernetes' own end-to-end tests (e2e.test ${subject.version}, built from the same module as the cluster), run on ${subject.date} against a`,
    `cluster that Fairlead made, by no program of Fairlead's. Of the cases marked [Conformance] in the groups sig-node and sig-network: **${passed.length} passed,`,
    `${failed.length} failed**, ${skipped.length} skipped themselves, ${notRun.length} were not run, ${leftOut.length} were left out. It took ${subject.minutes} minutes.`,
    '',
    'The images of their pods are made without a registry: agnhost (which stands in for jessie-dnsutils, too), busybox (with bash as its shell), nonewprivs and pause. Conformance as the project certifies it is',
    'more than these two groups; it is not claimed here.',
    '',
    '| Node | Role | System |',
    '|---|---|---|',
    ...subject.nodes.map(({ name, role, system }) => `| ${name} | ${role} | ${system} |`),
    '',
    ...section('Failed', failed, (each) => `| ${cell(each.name)} | ${cell(each.words)} | ${excuseOf(each) ?? ''} |`, [
      'Case',
      'Its words',
      'What is known of it',
    ]),
    ...section('Not run', notRun, ({ name }) => `| ${cell(name)} |`, ['Case']),
    ...section('Skipped themselves', skipped, ({ name, words }) => `| ${cell(name)} | ${cell(words)} |`, [
      'Case',
      'Why',
    ]),
    ...section('Left out', leftOut, ({ case: { name }, reason }) => `| ${cell(name)} | ${reason} |`, ['Case', 'Why']),
    ...section('Passed', passed, ({ name, seconds }) => `| ${cell(name)} | ${seconds.toFixed(1)} |`, [
      'Case',
      'Seconds',
    ]),
  ].join('\n');
};

const section = <Item>(
  title: string,
  items: readonly Item[],
  row: (item: Item) => string,
  columns: readonly string[],
): readonly string[] =>
  items.length === 0
    ? []
    : [`## ${title}`, '', `| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`, ...items.map(row), ''];

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
