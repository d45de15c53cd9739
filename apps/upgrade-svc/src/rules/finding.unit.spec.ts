import {
  GATES,
  HALTS,
  NEXT_ACTIONS,
  OPEN_UPGRADE_STATES,
  OPERATION_FAILURES,
  PAUSE_REASONS,
  SKIP_REASONS,
  UNREAD_FINDING,
  UPGRADE_FINDINGS,
  UPGRADE_RULES,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { finding, stopping, withOverrides } from './finding.js';

const CLI = readFileSync(fileURLToPath(new URL('../../../../docs/cli.md', import.meta.url)), 'utf8');

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

const TEXTS = [
  UPGRADE_FINDINGS,
  UNREAD_FINDING,
  GATES,
  HALTS,
  NEXT_ACTIONS,
  OPEN_UPGRADE_STATES,
  OPERATION_FAILURES,
  PAUSE_REASONS,
  SKIP_REASONS,
].flatMap(textsIn);

const COMMANDS = [
  ...new Set(TEXTS.flatMap((text) => [...text.matchAll(/"fairlead ([^"]+)"/g)].map(([, rest]) => rest!))),
];

const sectionOf = (command: string): string | undefined => {
  const name = command.split(' ').filter((word) => /^[a-z]+$/.test(word));
  return [name.slice(0, 2).join(' '), name[0]!]
    .map((one) => CLI.split(`\n### fairlead ${one}\n`)[1]?.split('\n### ')[0])
    .find((section) => section !== undefined);
};

describe('advice for operators', () => {
  it('contains commands', () => expect(COMMANDS.length).toBeGreaterThan(10));

  it.each(COMMANDS)('fairlead %s is a command with these arguments and options', (command) => {
    const section = sectionOf(command);
    expect(section).toBeDefined();
    const usage = /```text\nfairlead (.*)\n```/.exec(section!)?.[1] ?? '';
    const given = command.replaceAll(/\{(\w+)\}/g, '<$1>').replaceAll(/ --[a-z-]+( <\w+>)?/g, '');
    expect(usage.replace(' [options]', '').replace('[nodes...]', '<node>')).toBe(given);
    for (const [option] of command.matchAll(/--[a-z-]+/g)) expect(section).toContain(`\`${option}`);
  });
});

describe('a finding', () => {
  it('has the rule of its code, and its facts and text in the sentence', () =>
    expect(
      finding('A2.too-new', { node: 'w-1', version: '1.35.1', apiServer: '1.34.4' }, { component: 'kubelet' }),
    ).toMatchObject({
      rule: 'A2',
      severity: 'refuse',
      sentence: 'kubelet 1.35.1 of w-1 would be newer than API server 1.34.4',
      facts: { node: 'w-1', version: '1.35.1', apiServer: '1.34.4' },
    }));

  it('separates list items by commas', () =>
    expect(finding('B3.orphans', { orphans: ['old-1', 'old-2'] }).sentence).toContain('old-1, old-2'));

  it('has an existing rule', () => {
    for (const code of Object.keys(UPGRADE_FINDINGS)) expect(Object.keys(UPGRADE_RULES)).toContain(code.split('.')[0]);
  });

  it('blocks an upgrade until its rule is overridden, if it can be', () => {
    const snapshot = finding('B4.none', {});
    const skipped = finding('A1.skips', { from: 'v1.33.1', to: 'v1.35.1' });
    expect(stopping([snapshot, skipped], [])).toEqual([snapshot, skipped]);
    expect(stopping([snapshot, skipped], ['B4', 'A1'])).toEqual([skipped]);
    expect(withOverrides([snapshot], ['B4'])).toEqual([{ ...snapshot, severity: 'inform' }]);
  });
});
