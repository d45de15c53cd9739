import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { buildProgram } from './program.js';
import { commandsOfPeers } from './command/words.of.peers.js';
import { fakeIo, run } from './spec/io.fixtures.js';

const program = buildProgram(fakeIo());
const page = readFileSync(fileURLToPath(new URL('../../../docs/comparison.md', import.meta.url)), 'utf8');

const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.slice(1, -1).split('|'))
  .map((cells) => cells.map((cell) => cell.trim()));
const [titles = [], , ...tools] = rows;
const ours = tools.map((cells) => ({ what: cells[0] ?? '', cell: cells.at(-1) ?? '' }));

/** An option alone is one of the command before it. */
const commandsIn = (cell: string): readonly string[] => {
  let last = '';
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => {
    if (text.startsWith('-')) return `${last} ${text}`.trim();
    last = text.split(' -')[0] ?? text;
    return text;
  });
};

/** The first word that is not a command or option of this program; undefined if all are. */
const unknownIn = (line: string): string | undefined => {
  let command: Command = program;
  for (const word of line.split(' ')) {
    if (word.startsWith('-')) {
      if (!command.options.some(({ long }) => long === word)) return word;
      continue;
    }
    const next = command.commands.find((child) => child.name() === word || child.aliases().includes(word));
    if (next === undefined) return word;
    command = next;
  }
  return undefined;
};

describe('the table of verbs', () => {
  it('has Fairlead in its last column, and a cell for every tool', () => {
    expect(titles.at(-1)).toBe('Fairlead');
    expect(tools.length).toBeGreaterThan(15);
    expect(tools.filter((cells) => cells.length !== titles.length || cells.some((cell) => cell === ''))).toEqual([]);
  });

  it.each(ours)('lists only existing commands and options for Fairlead: $what', ({ cell }) => {
    expect(commandsIn(cell).filter((line) => unknownIn(line) !== undefined)).toEqual([]);
  });
});

/** As they are typed at the tools of the table. */
const TYPED: readonly (readonly [line: string, leadsTo: string])[] = [
  ['config get-contexts', 'context'],
  ['config images', 'bundle inspect'],
  ['auth whoami', 'whoami'],
  ['get nodes', 'node list'],
  ['get clusters', 'cluster get'],
  ['get kubeconfig', 'kubeconfig'],
  ['rollout status', 'upgrade status'],
  ['rollout restart', 'node replace'],
  ['rollout history', 'cluster history'],
  ['rollout undo', 'cluster rollback'],
  ['rolling-update cluster', 'upgrade start'],
  ['upgrade apply', 'upgrade start'],
  ['ssh demo', 'node exec'],
  ['node ssh demo', 'node exec'],
  ['cluster ssh demo', 'node exec'],
  ['debug node/demo-w-1', 'node exec'],
  ['generate cluster demo', 'init'],
  ['status demo', 'cluster describe'],
  ['cluster status demo', 'cluster describe'],
  ['cluster scale demo', 'pool scale'],
  ['scale pool web', 'pool scale'],
  ['backup demo', 'etcd snapshot'],
  ['restore demo', 'etcd restore'],
  ['snapshot demo', 'etcd snapshot'],
  ['reset demo', 'cluster delete'],
  ['move demo', 'handover'],
  ['support demo', 'support-bundle'],
  ['toolbox dump', 'support-bundle'],
  ['cluster-info dump', 'support-bundle'],
  ['proxy demo', 'kubeconfig'],
  ['machines', 'node list'],
  ['cluster import demo', 'connection orphans'],
  ['certs renew', 'certificates renew'],
  ['logs demo', 'node logs'],
];

describe('what users of other tools type', () => {
  it.each(TYPED)('"%s" leads to "fairlead %s"', async (line, leadsTo) => {
    const { code, stderr } = await run(line.split(' '));
    expect(code).toBe(2);
    expect(stderr).toContain(`"fairlead ${leadsTo}"`);
  });

  it('leads to commands that exist', () =>
    expect(commandsOfPeers().filter((line) => unknownIn(line) !== undefined)).toEqual([]));
});
