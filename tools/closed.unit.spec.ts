import { EVENTS, GATES, PROVIDERS, type EventType } from '@fairlead/contracts';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import config from './imports.config.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What programs run, without specs, and without the definitions and the sentences of events. */
const sources = projectFiles(root, 'apps/*.ts', 'libs/*.ts')
  .filter((path) => /\/src\/.*\.ts$/u.test(path) && !/\.(spec|features|fixtures)\.ts$/u.test(path))
  .filter((path) => !path.startsWith('libs/contracts/src/events/') && path !== 'libs/domain/src/narrative.ts');

interface Mention {
  readonly path: string;
  readonly reads: boolean;
}

const WORD = /'([\w-]+)'|^\s+(\w+)(?:: |,$|\()/gmu;
/** Before a name that is read: a case, a comparison, the type of an event, or a handler. */
const READING = /(?:case |=== |!== |On\w*\(|(?:StoredEvent|EventData)<(?:'\w+' \| )*)$/u;
const BEFORE_MAX = 120;

const mentions = new Map<string, Mention[]>();
for (const path of sources) {
  const text = readFileSync(join(root, path), 'utf8');
  for (const { 1: quoted, 2: key, index } of text.matchAll(WORD)) {
    const name = quoted ?? key ?? '';
    const reads = quoted === undefined || READING.test(text.slice(Math.max(0, index - BEFORE_MAX), index));
    mentions.set(name, [...(mentions.get(name) ?? []), { path, reads }]);
  }
}
const mentionsOf = (name: string): readonly Mention[] => mentions.get(name) ?? [];

const types = Object.keys(EVENTS) as EventType[];

/** Made from the prefix of the service that asks (`hookFactOf`). */
const HOOK_FACTS = /^(?:Upgrade|NodeAction)?Hook(?:Blocked|Succeeded|Failed)$/u;

/** Libraries state some facts for the service that they run in. */
const isStated = (type: EventType): boolean =>
  HOOK_FACTS.test(type) ||
  mentionsOf(type).some(
    ({ path, reads }) =>
      !reads &&
      [`apps/${EVENTS[type].writer}/`, 'libs/service-kit/', 'libs/event-sourcing/'].some((at) => path.startsWith(at)),
  );

const isRead = (type: EventType): boolean =>
  mentionsOf(type).some(({ reads }) => reads) || new Set(mentionsOf(type).map(({ path }) => path)).size > 1;

/** Nothing follows from them: people and auditors read them in the history. */
const FOR_PEOPLE: readonly EventType[] = ['AgentMessagesRejected', 'EventLoopBlocked'];

/** Their folders import each other in circles. */
const WITHOUT_LAYERS = ['apps/web'];

/** A comparison of a provider with one of them, a branch on it, or a table by it, in place of a trait. */
const PROVIDER_BRANCH = new RegExp(
  [
    String.raw`\bprovider\)?\s*[!=]==?\s*(?:'|[A-Z][A-Z_]+\b)`,
    String.raw`(?:'(?:${PROVIDERS.join('|')})'|\b[A-Z][A-Z_]+)\s*[!=]==?\s*(?:\w+\.)*provider\b`,
    String.raw`\bswitch \((?:\w+\.)*provider\)`,
    String.raw`\bRecord<(?:ProviderName|\(typeof PROVIDERS\))`,
    String.raw`\bnew Set\(\[[^\]]*'(?:${PROVIDERS.join('|')})'`,
  ].join('|'),
  'u',
);

/** Where the traits are. */
const PROVIDER_TABLES = ['libs/contracts/src/connection-settings.ts'];

describe('what is declared is used', () => {
  it('every event has a writer that states it', () => {
    expect(types.filter((type) => !isStated(type))).toEqual([]);
  });

  it('every event has a reader besides its sentence in the history, except for two that are for people', () => {
    expect(types.filter((type) => !isRead(type))).toEqual(FOR_PEOPLE);
  });

  it('every gate is named by a rule', () => {
    const isNamed = (gate: string): boolean =>
      mentionsOf(gate).some(({ path }) => path.startsWith('apps/upgrade-svc/src/rules/'));
    expect(Object.keys(GATES).filter((gate) => !isNamed(gate))).toEqual([]);
  });

  it('no code outside its adapter depends on the name of a provider: PROVIDER_TRAITS has how they differ', () => {
    const branches = sources
      .filter((path) => !path.includes('/adapters/') && !PROVIDER_TABLES.includes(path))
      .flatMap((path) =>
        readFileSync(join(root, path), 'utf8')
          .split('\n')
          .filter((line) => PROVIDER_BRANCH.test(line))
          .map((line) => `${path}: ${line.trim()}`),
      );
    expect(branches).toEqual([]);
  });

  it.each([
    "if (registration.provider === 'ssh') {",
    'if (provider !== OWN_KEYS) {',
    "if ('lab' === view.provider) {",
    'switch (connection.provider) {',
    'const NAMES: Readonly<Record<ProviderName, string>> = {',
    "const SHARED_NETWORK: ReadonlySet<string> = new Set(['ssh', 'nspawn']);",
  ])('finds the branch %s', (line) => expect(line).toMatch(PROVIDER_BRANCH));

  it('every task that a planner desires has a handler, and every handler a task', () => {
    const textIn = (suffix: RegExp): string =>
      sources
        .filter((path) => path.startsWith('apps/') && suffix.test(path))
        .map((path) => readFileSync(join(root, path), 'utf8'))
        .join('\n');
    const planned = textIn(/\.(?:planner|reconciler|tasks|task)\.ts$/u);
    const handled = new Set([...textIn(/\.effects\.ts$/u).matchAll(/@OnTask\('(\w+)'/gu)].map(([, name = '']) => name));
    const steps = planned.match(/(?<=type (?:Node|Cluster)Step =)[^;]+/gu)?.join() ?? '';
    const desired = [
      ...[...steps.matchAll(/'(\w+)'/gu)],
      ...[...planned.matchAll(/(?:readonly type: |readonly step: |\btype: )'(\w+)'(?=;|,\s*key\b)/gu)],
    ].map(([, name = '']) => name);
    expect(desired.length).toBeGreaterThan(50);
    expect(desired.filter((name) => !handled.has(name) && !(name in EVENTS))).toEqual([]);
    expect([...handled].filter((name) => !planned.includes(`'${name}'`))).toEqual([]);
  });

  it('services have one list, which no file repeats', () => {
    const REPEATED = /'infra-svc',\s*'bootstrap-svc',\s*'upgrade-svc'/u;
    const files = projectFiles(root, 'apps/*.ts', 'libs/*.ts', 'test/*.ts', '*.config.js');
    const repeating = files.filter((path) => REPEATED.test(readFileSync(join(root, path), 'utf8')));
    expect(repeating).toEqual(['libs/contracts/src/events/definition.ts']);
  });

  it('every folder of an app or a library has its place in the import layers, except for the page', () => {
    const folderOf = (path: string): string => /^((?:apps|libs)\/[^/]+)\/src\/[^/]+\//u.exec(path)?.[1] ?? '';
    const layered = new Set(config.forbidden.map(({ name }) => name));
    const projects = [...new Set(sources.filter((path) => !path.includes('/generated/')).map(folderOf))].filter(
      (project) => project !== '',
    );
    const isLayered = (project: string): boolean => layered.has(`unlisted-folder-of-${project.split('/')[1]}`);
    expect(projects.filter((project) => !isLayered(project))).toEqual(WITHOUT_LAYERS);
  });
});
