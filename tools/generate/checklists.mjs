// docs/reports/checklists.md: the tests that cover each line of the checklists of the four systems that Fairlead
// unites. A test title ends with the lines that it covers: "a second call creates nothing [ORBITER 4, CB-Ladybug 8]".
import { readFile } from 'node:fs/promises';
import { specTitles } from './spec.titles.mjs';

const LINES = new URL('checklists.json', import.meta.url);

const ABOUT = {
  ORBITER: 'ORBITER creates machines and keeps Kubernetes clusters on them as declared, with an agent on every node.',
  'Cluster API':
    'Cluster API manages machines as Kubernetes objects; its MachinePool is a group of them with one size.',
  azimuth: 'azimuth-capi-operator offers clusters to the tenants of an OpenStack cloud.',
  'CB-Ladybug': 'CB-Ladybug creates Kubernetes clusters over several clouds at once, through a REST API.',
};

const REFERENCES = /^(.*\S) \[([^[\]]+)\]$/su;
const REFERENCE = /^(.+) ([1-9]\d*)$/u;
/** Brackets that probably contain malformed references. */
const SUSPECT = /\[[^[\]]*\b(orbiter|cluster[ -]?api|capi|azimuth|(cb-?)?ladybug)[^[\]]*\d[^[\]]*\]/iu;

const parse = (text) =>
  text.split(', ').map((reference) => {
    const [, system, line] = REFERENCE.exec(reference) ?? [];
    return { system, line };
  });

const faultOf = ({ system, line }, checklists) => {
  if (checklists[system] === undefined) return 'has a malformed reference';
  return checklists[system][line] === undefined ? `names line ${line} of ${system}, which does not exist` : undefined;
};

/** A title without its references, the references, and the errors in them. */
export const referencesOf = (title, checklists) => {
  const [, bare, inside = ''] = REFERENCES.exec(title) ?? [];
  const references = bare === undefined ? [] : parse(inside);
  if (references.every(({ system }) => checklists[system] === undefined))
    return { bare: title, references: [], faults: SUSPECT.test(title) ? ['has a malformed reference'] : [] };
  const faults = references.map((reference) => faultOf(reference, checklists)).filter((fault) => fault !== undefined);
  const repeated = SUSPECT.test(bare) ? ['has references in more than one place'] : [];
  return { bare, references, faults: [...new Set([...faults, ...repeated])] };
};

/** Every reference to a line, with its test as one sentence: the titles of the surrounding groups and of the test. */
export const testsOf = (titles, checklists) => {
  const read = titles.map(({ file, groups, title }) => {
    const { bare, references, faults } = referencesOf(title, checklists);
    const outer = groups.map((group) => referencesOf(group, checklists).bare);
    return { file, title, name: [...outer, bare].join(' '), references, faults };
  });
  const faults = read.flatMap(({ file, title, faults: own }) => own.map((fault) => `${file}: "${title}" ${fault}`));
  const tests = read.flatMap(({ file, name, references }) =>
    references.map((reference) => ({ ...reference, file, name })),
  );
  return { tests, faults };
};

const escaped = (text) =>
  text
    .replaceAll('`', "'")
    .replaceAll(/[\\*_[\]<>|~]/gu, '\\$&')
    .replaceAll(/\s+/gu, ' ');

const testsCell = (tests) => tests.map(({ file, name }) => `[${escaped(name)}](../../${file})`).join('<br>');

/** Whether a line is covered as written; `lab`: only by what Fairlead itself simulates. */
const verdictOf = ({ missing, onlySimulated = false }, tests) => {
  if (tests.length === 0) return 'no';
  if (missing !== undefined) return 'part';
  return onlySimulated ? 'lab' : 'holds';
};

const verdictCell = (entry, tests) => {
  const { missing = '', onlySimulated = false } = entry;
  const words = { holds: 'yes', lab: 'yes (lab)', part: 'in part', no: 'no' }[verdictOf(entry, tests)];
  const where = missing !== '' && onlySimulated ? ' (lab)' : '';
  return `${words}${where}${missing === '' ? '' : `: ${tableText(missing)}`}`;
};

const rowOf = (line, entry, tests) =>
  `| ${line} | ${tableText(entry.sentence)} | ${verdictCell(entry, tests)} | ${testsCell(tests)} |`;

/** Escapes a sentence for a table cell. */
const tableText = (sentence) => sentence.replaceAll(/[<>|]/gu, '\\$&');

const testsOfLine = (tests, line) => tests.filter((test) => test.line === line);

const countsOf = (lines, tests) => {
  const verdicts = Object.entries(lines).map(([line, entry]) => verdictOf(entry, testsOfLine(tests, line)));
  const count = (verdict) => verdicts.filter((one) => one === verdict).length;
  const inLab = count('lab') === 0 ? '' : `, and ${count('lab')} more in the simulated cloud only`;
  return `${count('holds')} of ${verdicts.length} lines hold${inLab}.`;
};

const section = (system, lines, tests) => [
  `## ${system}`,
  '',
  ABOUT[system],
  '',
  '| | What is asked | Holds | Tests |',
  '|---|---|---|---|',
  ...Object.entries(lines).map(([line, entry]) => rowOf(line, entry, testsOfLine(tests, line))),
  '',
];

const INTRO = `Fairlead unites what four systems do. For each of them, a checklist says when it works in Fairlead, in the words in which it was
asked; "theirs" is the original system. A line holds if the tests beside it show all of it. Where something of a line is missing, the table says what, and the
tests show the rest. "(lab)" marks what only the simulated cloud does: no other provider can.

A test whose programs are missing on a machine is skipped, and shows nothing there: \`npm test\` lists it as "NOT CHECKED".`;

/** The page, and the errors in the references. */
export const checklistPage = (checklists, titles) => {
  const { tests, faults } = testsOf(titles, checklists);
  const systems = Object.entries(checklists).map(([system, lines]) => ({
    system,
    lines,
    tests: tests.filter((test) => test.system === system),
  }));
  const page = [
    '# Checklists',
    '',
    '<!-- Generated by `npm run generate` from the titles of tests and tools/generate/checklists.json. Do not edit. -->',
    '',
    INTRO,
    '',
    ...systems.map(
      ({ system, lines, tests: own }) =>
        `- [${system}](#${system.toLowerCase().replaceAll(' ', '-')}): ${countsOf(lines, own)}`,
    ),
    '',
    ...systems.flatMap(({ system, lines, tests: own }) => section(system, lines, own)),
  ].join('\n');
  return { page, faults };
};

/** Throws an error that lists every invalid reference. */
export const checklistReference = async (root) => {
  const { page, faults } = checklistPage(JSON.parse(await readFile(LINES, 'utf8')), await specTitles(root));
  if (faults.length > 0)
    throw new Error(`titles of tests with wrong references to a checklist:\n  ${faults.join('\n  ')}`);
  return page;
};
