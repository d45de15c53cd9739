import { describe, expect, it } from '@jest/globals';
import { checklistPage, type Checklists } from './generate/checklists.mjs';
import { titlesIn } from './generate/spec.titles.mjs';

const CHECKLISTS: Checklists = {
  ORBITER: { '1': { sentence: 'A manifest is accepted.' }, '2': { sentence: 'A wrong number is refused.' } },
  'Cluster API': { '1': { sentence: 'A pool has an owner.' } },
};

const pageOf = (source: string, checklists = CHECKLISTS): ReturnType<typeof checklistPage> =>
  checklistPage(checklists, titlesIn('apps/one/src/one.unit.spec.ts', source));

const rowsOf = (source: string): readonly string[] =>
  pageOf(source)
    .page.split('\n')
    .filter((line) => /^\| \d/u.test(line));

const linkTo = (name: string): string => `[${name}](../../apps/one/src/one.unit.spec.ts)`;

describe('the titles of a spec', () => {
  const titles = (source: string): readonly string[] =>
    titlesIn('one.unit.spec.ts', source).map(({ groups, title }) => [...groups, title].join(' > '));

  it('are read with their groups, with or without rows', () =>
    expect(
      titles(`
        describe('a pool', () => {
          it('grows', () => {});
          it.each([1, 2])('has %i nodes', () => {});
          describe.each(['a'])("of %s", () => test.skip('waits', async () => {}));
        });
        it.each\`n\${1}\`('counts', () => {});`),
    ).toEqual([
      'a pool',
      'a pool > grows',
      'a pool > has %i nodes',
      'a pool > of %s',
      'a pool > of %s > waits',
      'counts',
    ]));

  it('contain … for expressions whose value is known only at run time', () =>
    expect(titles("it(`over ${SEEDS} seeds`, () => {}); it('named ' + name, () => {});")).toEqual([
      'over … seeds',
      'named …',
    ]));

  it('are not read from other calls, comments or strings', () =>
    expect(titles("// it('is old', f)\nsplit('a'); const text = \"it('is text')\"; it(title, f);")).toEqual([]));
});

describe('the page of checklists', () => {
  it('lists the tests of each line as sentences, and states where there are none yet', () =>
    expect(
      rowsOf(`describe('a manifest', () => {
        it('is accepted [ORBITER 1]', f);
        it('has an owner [ORBITER 1, Cluster API 1]', f);
        it('is something else', f);
      });`),
    ).toEqual([
      `| 1 | A manifest is accepted. | yes | ${linkTo('a manifest is accepted')}<br>${linkTo('a manifest has an owner')} |`,
      '| 2 | A wrong number is refused. | no |  |',
      `| 1 | A pool has an owner. | yes | ${linkTo('a manifest has an owner')} |`,
    ]));

  it('expands a reference in a group to all its tests, and omits it from their sentences', () =>
    expect(rowsOf("describe('a pool [Cluster API 1]', () => { it('grows [ORBITER 2]', f); });").slice(1)).toEqual([
      `| 2 | A wrong number is refused. | yes | ${linkTo('a pool grows')} |`,
      `| 1 | A pool has an owner. | yes | ${linkTo('a pool')} |`,
    ]));

  it('counts the lines that have a test', () => {
    const { page } = pageOf("it('is accepted [ORBITER 1]', f); it('is accepted twice [ORBITER 1]', f);");
    expect(page).toContain('[ORBITER](#orbiter): 1 of 2 lines hold.');
    expect(page).toContain('[Cluster API](#cluster-api): 0 of 1 lines hold.');
  });

  it('reports the part of a line that is missing or only simulated, and does not count that line', () => {
    const { page } = pageOf("it('is accepted [ORBITER 1, ORBITER 2, Cluster API 1]', f);", {
      ORBITER: {
        '1': { sentence: 'A manifest is accepted.', missing: 'Not that of <others>.' },
        '2': { sentence: 'A wrong number | is refused.', onlySimulated: true },
      },
      'Cluster API': { '1': { sentence: 'A pool has an owner.', missing: 'No owner.', onlySimulated: true } },
    });
    const link = linkTo('is accepted');
    expect(page.split('\n').filter((line) => /^\| \d/u.test(line))).toEqual([
      `| 1 | A manifest is accepted. | in part: Not that of \\<others\\>. | ${link} |`,
      `| 2 | A wrong number \\| is refused. | yes (lab) | ${link} |`,
      `| 1 | A pool has an owner. | in part (lab): No owner. | ${link} |`,
    ]);
    expect(page).toContain('0 of 2 lines hold, and 1 more in the simulated cloud only.');
    expect(page).toContain('[Cluster API](#cluster-api): 0 of 1 lines hold.');
  });

  it('escapes Markdown characters in titles', () =>
    expect(rowsOf("it('counts a|b and <c> of __d [ORBITER 1]', f);")[0]).toContain(
      '[counts a\\|b and \\<c\\> of \\_\\_d]',
    ));

  it.each([
    ['is accepted [ORBITER 3]', 'names line 3 of ORBITER, which does not exist'],
    ['is accepted [ORBITER 1, ORBITER 9]', 'names line 9 of ORBITER, which does not exist'],
    ['is accepted [Orbiter 1]', 'has a malformed reference'],
    ['is accepted [ORBITER1]', 'has a malformed reference'],
    ['is accepted [ORBITER 1; Cluster API 1]', 'has a malformed reference'],
    ['is accepted [ORBITER 1, 2]', 'has a malformed reference'],
    ['is accepted [ORBITER 01]', 'has a malformed reference'],
    ['is [ORBITER 1] accepted', 'has a malformed reference'],
    ['is accepted [ORBITER 1] [ORBITER 2]', 'has references in more than one place'],
  ])('reports the malformed reference in the title "%s" with its file', (title, fault) =>
    expect(pageOf(`it('${title}', f);`).faults).toEqual([`apps/one/src/one.unit.spec.ts: "${title}" ${fault}`]),
  );

  it.each(['reads a list [1, 2]', 'shows [::1] in brackets', 'of CB-Ladybug is a [string]'])(
    'accepts the title "%s" as one without references',
    (title) => expect(pageOf(`it('${title}', f);`).faults).toEqual([]),
  );
});
