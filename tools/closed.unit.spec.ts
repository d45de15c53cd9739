import { EVENTS, GATES, PROVIDERS, type EventType } from '@fairlead/contracts';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import config from './imports.config.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Production code: without specs, event definitions and event sentences. */
const sources = projectFiles(root, 'apps/*.ts', 'libs/*.ts')
  .filter((path) => /\/src\/.*\.ts$/u.test(path) && !/\.(spec|features|fixtures)\.ts$/u.test(path))
  .filter((path) => !path.startsWith('libs/contracts/src/events/') && path !== 'libs/domain/src/narrative.ts');

interface Mention {
  readonly path: string;
  readonly reads: boolean;
}

const WORD = /'([\w-]+)'|^\s+(\w+)(?:: |,$|\()/gmu;
/** Matches the text before an event name where the event is read: a case, a comparison, a type, or a handler. */
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

/** Built from the prefix of the calling service (`hookFactOf`). */
const HOOK_FACTS = /^(?:Upgrade|NodeAction)?Hook(?:Blocked|Succeeded|Failed)$/u;

/** Includes facts that libraries append on behalf of their service. */
const isStated = (type: EventType): boolean =>
  HOOK_FACTS.test(type) ||
  mentionsOf(type).some(
    ({ path, reads }) =>
      !reads &&
      [`apps/${EVENTS[type].writer}/`, 'libs/service-kit/', 'libs/event-sourcing/'].some((at) => path.startsWith(at)),
  );

const isRead = (type: EventType): boolean =>
  mentionsOf(type).some(({ reads }) => reads) || new Set(mentionsOf(type).map(({ path }) => path)).size > 1;

/** Read by operators and auditors in the history only; no code reacts to them. */
const FOR_PEOPLE: readonly EventType[] = [
  'AddonSecretRead',
  'AgentMessagesRejected',
  'ConnectionCredentialRead',
  'EventLoopBlocked',
  'HookSecretRead',
  'RealmCredentialRead',
];

/** Its folders have import cycles. */
const WITHOUT_LAYERS = ['apps/web'];

/** A comparison with the name of a provider, a branch on it, or a table keyed by it, where a trait belongs. */
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

/** The file that defines the traits. */
const PROVIDER_TABLES = ['libs/contracts/src/connection-settings.ts'];

describe('a query of a service', () => {
  it('casts no text of a JSON document: one value of another kind would fail all rows', () => {
    const sources = projectFiles(root, 'apps/*/src/*.ts', 'libs/*/src/*.ts').filter(
      (file) => !/migration|\.spec\./.test(file),
    );
    const casts = sources.filter((file) => /->>\s*'\w+'\s*\)?::/.test(readFileSync(join(root, file), 'utf8')));
    expect(casts).toEqual([]);
  });
});

describe('the declarations', () => {
  it('have a writer for every event', () => {
    expect(types.filter((type) => !isStated(type))).toEqual([]);
  });

  it('have a reader for every event besides its sentence in the history, except for those that are for people', () => {
    expect(types.filter((type) => !isRead(type)).toSorted()).toEqual(FOR_PEOPLE);
  });

  it('have a rule for every gate', () => {
    const isNamed = (gate: string): boolean =>
      mentionsOf(gate).some(({ path }) => path.startsWith('apps/upgrade-svc/src/rules/'));
    expect(Object.keys(GATES).filter((gate) => !isNamed(gate))).toEqual([]);
  });

  it('name providers only in their adapters: PROVIDER_TRAITS declares how they differ', () => {
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
  ])('are checked for the branch %s', (line) => expect(line).toMatch(PROVIDER_BRANCH));

  it('have a handler for every desired task, and a task for every handler', () => {
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

  it('have one list of services, which no file repeats', () => {
    const REPEATED = /'infra-svc',\s*'bootstrap-svc',\s*'upgrade-svc'/u;
    const files = projectFiles(root, 'apps/*.ts', 'libs/*.ts', 'test/*.ts', '*.config.js');
    const repeating = files.filter((path) => REPEATED.test(readFileSync(join(root, path), 'utf8')));
    expect(repeating).toEqual(['libs/contracts/src/events/definition.ts']);
  });

  it('have a place in the import layers for every folder of an app or a library, except for the page', () => {
    const folderOf = (path: string): string => /^((?:apps|libs)\/[^/]+)\/src\/[^/]+\//u.exec(path)?.[1] ?? '';
    const layered = new Set(config.forbidden.map(({ name }) => name));
    const projects = [...new Set(sources.filter((path) => !path.includes('/generated/')).map(folderOf))].filter(
      (project) => project !== '',
    );
    const isLayered = (project: string): boolean => layered.has(`unlisted-folder-of-${project.split('/')[1]}`);
    expect(projects.filter((project) => !isLayered(project))).toEqual(WITHOUT_LAYERS);
  });
});
