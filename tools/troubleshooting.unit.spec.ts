import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** What the example in a heading names: versions, counts, names of clusters, nodes, files and components. */
const VALUE =
  /^\W*(v?\d[\w.]*|https|demo|web|wbe|ca|apiserver|admin\.conf|podman|CRI-O|NOSPACE|Halted|Deployment|DaemonSet|coredns|kube-proxy|kube-apiserver|\/\S+|E\d)\W*$/u;
/** In place of a value, in a source. */
const GAP = '§';

/** As printed, without the quotation marks and brackets around what it names. */
const wordsOf = (text: string): readonly string[] =>
  text
    .replaceAll(/["'`(){}[\]…:;,]|\.(?=\s|$)/gu, ' ')
    .split(/\s+/u)
    .filter((word) => /\w|§/u.test(word));

/** The texts of a source, without its comments: quotation marks begin and end them, braces hold values. */
const textsIn = (source: string): string =>
  ` ${wordsOf(
    source
      .replaceAll(/^\s*(\/\*\*?|\*|\/\/).*$/gmu, '')
      .replaceAll(/(['"`])\s*\+\s*\1/gu, '')
      .replaceAll(/\$\{[^{}]*\}|\$?[{}]|`|(?<!\w)'|'(?!\w)/gu, ` ${GAP} `),
  ).join(' ')} `;

/** With the lab, whose stand-ins print what Kubernetes and etcd do. */
const sources = projectFiles(root, 'apps/*.ts', 'libs/*.ts')
  .filter((path) => path.includes('/src/') && !/\.(spec|fixtures|features)\.ts$/u.test(path))
  .map((path) => textsIn(textOf(path)));

/** Whether a source has all the words: in one run, or in several with values between them. */
const hasAll = (texts: string, words: readonly string[]): boolean => {
  const isValue = (at: number): boolean => VALUE.test(words[at] ?? '');
  const hasRun = (from: number, to: number): boolean => {
    const run = words.slice(from, to).join(' ');
    const begins = from === 0 || isValue(from - 1) ? ' ' : `${GAP} `;
    const ends = to === words.length || isValue(to) ? ' ' : ` ${GAP}`;
    return texts.includes(`${begins}${run}${ends}`);
  };
  for (let at = 0; at < words.length;) {
    let to = words.length;
    while (to > at && !hasRun(at, to)) to -= 1;
    if (to === at && !isValue(at)) return false;
    at = Math.max(to, at + 1);
  }
  return true;
};
const isPrinted = (words: readonly string[]): boolean => sources.some((texts) => hasAll(texts, words));

/** Parts of a symptom, between what differs from case to case. */
const partsOf = (symptom: string): readonly (readonly string[])[] =>
  symptom
    .split('…')
    .map(wordsOf)
    .filter((words) => words.filter((word) => !VALUE.test(word)).length > 1);

const symptomsIn = (page: string): readonly string[] =>
  page
    .split('\n')
    .filter((line) => line.startsWith('### '))
    .flatMap((line) =>
      [...line.matchAll(/(?<=[ ,])"((?:[^"]|"…")+)"(?=[ ,(]|$)/gu)].map(([, symptom = '']) => symptom),
    );

/** Per section: its symptoms, each with what to do. */
const sectionsIn = (page: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    page
      .split(/^## /mu)
      .slice(1)
      .map((section) => {
        const [title = '', ...entries] = section.split(/^### /mu);
        return [title.split('\n')[0] ?? '', entries];
      }),
  );

const page = textOf('docs/troubleshooting.md');

describe('troubleshooting, by symptom', () => {
  const symptoms = symptomsIn(page);

  it('quotes symptoms', () => expect(symptoms.length).toBeGreaterThan(40));

  it.each(symptoms)('in the words that Fairlead prints: %s', (symptom) => {
    const missing = partsOf(symptom).filter((words) => !isPrinted(words));
    expect(missing.map((words) => words.join(' '))).toEqual([]);
  });

  it('would notice another sentence', () => {
    const [words = []] = partsOf('the upgrade would lose flags that were added by hand to kube-apiserver');
    expect(isPrinted(words)).toBe(false);
  });

  it.each([
    'Drains',
    'Upgrades that are rejected',
    'Upgrades that halt',
    'Restores',
    'Certificates',
    'Hosts',
    'Egress',
  ])('has entries for the kind %s, each with a text that explains it', (kind) => {
    const entries = [...sectionsIn(page)].find(([title]) => title.startsWith(kind))?.[1] ?? [];
    expect([kind, entries.length > 0]).toEqual([kind, true]);
    for (const entry of entries) {
      const [heading = '', ...text] = entry.split('\n');
      expect([heading, text.join(' ').trim().length > 80]).toEqual([heading, true]);
    }
  });
});
