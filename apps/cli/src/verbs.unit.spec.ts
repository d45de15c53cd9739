import { expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { titleOf } from './command/command.js';
import { FORMER_COMMANDS, inPresentWords } from './command/former.js';
import { buildProgram } from './program.js';
import { fakeIo, run } from './spec/io.fixtures.js';

const io = fakeIo();
const program = buildProgram(io);
const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
const leaves = leavesOf(program);
const optionsOf = (command: Command): readonly string[] =>
  command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []);

/** Words that other programs use for what has one name here: the name is the key. */
const ONE_NAME_EACH: Readonly<Record<string, readonly string[]>> = {
  get: ['show', 'view', 'inspect-one', 'print'],
  list: ['snapshots', 'secrets', 'index', 'ls-all'],
  register: ['set', 'add-connection', 'put'],
  delete: ['destroy', 'drop', 'purge'],
};

it.each(Object.entries(ONE_NAME_EACH))('the verb for one thing is %s, and nothing else', (_verb, others) => {
  const words = leaves
    .filter((leaf) => !/^fairlead (audit|context|lab) /.test(titleOf(leaf)))
    .map((leaf) => leaf.name());
  expect(words.filter((word) => others.includes(word))).toEqual([]);
});

it.each(['list', 'get', 'describe', 'delete', 'register', 'hold', 'wait'])(
  'each command %s says the same kind of thing of its group',
  (verb) => {
    const first = {
      list: 'List',
      get: 'Show',
      describe: 'Show',
      delete: 'Delete',
      register: 'Register',
      hold: 'Exclude',
      wait: 'Wait',
    }[verb];
    const others = leaves.filter((leaf) => leaf.name() === verb && !leaf.summary().startsWith(first ?? ''));
    expect(others.map((leaf) => `${titleOf(leaf)}: ${leaf.summary()}`)).toEqual([]);
  },
);

const thoseWith = (...options: readonly string[]): readonly string[] =>
  leaves.filter((leaf) => options.every((option) => optionsOf(leaf).includes(option))).map(titleOf);

it('what has a lifetime is awaited with --wait or left with --no-wait, what is looked at is kept with --watch, and streams are followed', () => {
  expect(thoseWith('--follow')).toEqual(['fairlead node logs', 'fairlead events']);
  expect(thoseWith('--watch')).toEqual([
    ...['fairlead cluster list', 'fairlead cluster describe', 'fairlead upgrade status'],
  ]);
  expect(thoseWith('--wait').length).toBeGreaterThan(20);
  expect(thoseWith('--no-wait')).toEqual(thoseWith('--wait'));
  // A program that is left running, not an operation of the server.
  expect(thoseWith('--detach')).toEqual(['fairlead up']);
});

it('what asks before it takes something away is answered by --yes, and by nothing else', () => {
  expect(thoseWith('--confirm')).toEqual([]);
  const actions = ['reboot', 'drain', 'cordon', 'uncordon', 'remove', 'replace'].map((verb) => `fairlead node ${verb}`);
  expect(thoseWith('--yes')).toEqual(expect.arrayContaining([...actions, 'fairlead etcd restore']));
});

/** The context is a line of a file of the caller's own, which `context set` writes again. */
const ASKS_NOTHING = ['fairlead context delete'];

it('whatever deletes, removes, revokes, replaces or abandons asks first, and whatever asks takes --yes', () => {
  const taking = leaves.filter((leaf) => /^(delete|remove|revoke|replace|abandon|restore|rollback)/.test(leaf.name()));
  const asking = thoseWith('--yes');
  const others = taking.map(titleOf).filter((title) => !asking.includes(title) && !ASKS_NOTHING.includes(title));
  // A failed worker gets its former software back: its pods have left it already.
  expect(others).toEqual(['fairlead upgrade rollback']);
  expect(asking).toEqual(expect.arrayContaining(['fairlead pool scale', 'fairlead autoscaler revoke']));
});

it.each([
  ['upgrade start demo --to v1.35.4 --detach', '--detach is now --no-wait'],
  ['upgrade retry demo --watch', '--watch is now --wait'],
  ['etcd restore demo s1 --confirm demo', '--confirm is now --yes'],
])('"%s" is understood, and says how it is spelt now', async (line, words) => {
  const { stderr } = await run(['--server', 'http://127.0.0.1:1', ...line.split(' ')]);
  expect(stderr).toContain(words);
});

it('a hold is ended by unhold; a release is a version of Kubernetes, and of what was held back otherwise', () => {
  const titles = leaves.map(titleOf);
  expect(titles.filter((title) => /\b(hold|unhold)$/.test(title))).toEqual([
    ...['fairlead node hold', 'fairlead node unhold', 'fairlead pool hold', 'fairlead pool unhold'],
  ]);
  expect(titles.filter((title) => title.endsWith(' release'))).toEqual([
    ...['fairlead handover release', 'fairlead quarantine release'],
  ]);
});

it('machines have a type, by whatever command', () => {
  const named = leaves.flatMap((leaf) => optionsOf(leaf).filter((option) => /spec$|^--size|^--flavor/.test(option)));
  expect(named).toEqual([]);
});

it.each(FORMER_COMMANDS)('%s %s is understood as %s, and says so', async (group, former, now) => {
  expect(leaves.map(titleOf)).toContain(`fairlead ${group} ${now}`);
  expect(leaves.map(titleOf)).not.toContain(`fairlead ${group} ${former}`);
  const { code, stdout, stderr } = await run([group, former, '--help']);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`fairlead ${group} ${now}`)]);
  expect(stderr).toContain(`"fairlead ${group} ${former}" is now "fairlead ${group} ${now}"`);
});

it('what follows a command is no former name of another', () => {
  const line = ['node', 'exec', 'demo', 'w-1', '--', 'connection', 'set'];
  expect(inPresentWords(line, io)).toEqual(line);
  expect(inPresentWords(['--server', 'http://x', 'connection', 'set', 'a'], fakeIo())).toEqual([
    ...['--server', 'http://x', 'connection', 'register', 'a'],
  ]);
});
