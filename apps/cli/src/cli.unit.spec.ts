import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Option, type Command } from 'commander';
import { CHECKOUT } from './checkout.js';
import { examplesOf } from './command/command.js';
import { meaningOf } from './command/help.text.js';
import { candidatesFor } from './completion/candidates.js';
import { EXIT_CODES, exitClassOfStatus } from './exit-codes.js';
import { asking } from './io/process.io.js';
import { buildProgram } from './program.js';
import { referenceText } from './reference/reference.js';
import { fakeIo, run } from './spec/io.fixtures.js';
import { VERSION } from './version.js';

const program = (): Command => buildProgram(fakeIo());

const leavesOf = (command: Command): readonly Command[] =>
  command.commands
    .flatMap((child) => (child.commands.length > 0 ? leavesOf(child) : [child]))
    .filter((child) => !child.name().startsWith('__'));

describe('the meaning of an option', () => {
  it('names a default once, and none that is empty', () => {
    const texts = [
      new Option('--wait', 'wait until it is done (default)').default(true),
      new Option('--reason <text>', 'reason').default(''),
      new Option('--timeout <duration>', 'how long').default(60_000, '60s'),
    ].map(meaningOf);
    expect(texts).toEqual(['wait until it is done (default)', 'reason', 'how long (default: 60s)']);
  });
});

describe('a question at a terminal', () => {
  const terminal = () => ({ input: new PassThrough(), output: new PassThrough() });

  it('reads a line', async () => {
    const { input, output } = terminal();
    const answer = asking(new AbortController().signal, { input, output })('Go on? ');
    input.write('yes\n');
    expect(await answer).toBe('yes');
  });

  it('has no answer if the terminal ends, as at Ctrl-D', async () => {
    const { input, output } = terminal();
    const answer = asking(new AbortController().signal, { input, output })('Go on? ');
    input.end();
    expect(await answer).toBe('');
  });
});

describe('an invalid command line exits with 2', () => {
  it.each([
    [['clutser', 'list'], "unknown command 'clutser'", 'Did you mean "fairlead cluster"?'],
    [['cluster', 'lsit'], "unknown command 'lsit'", 'Did you mean "fairlead cluster list"?'],
    [['cluster', 'rm', 'demo'], "unknown command 'rm'", 'Did you mean "fairlead cluster delete"?'],
    [['-n', 'team-a', 'cluster', 'lsit'], "unknown command 'lsit'", 'Did you mean "fairlead cluster list"?'],
    [
      ['describe', 'demo'],
      "unknown command 'describe'",
      'Did you mean "fairlead cluster describe" or "fairlead template describe" or "fairlead node describe"?',
    ],
    [['create', 'cluster', 'demo'], "unknown command 'create'", 'Did you mean "fairlead cluster create"?'],
    [['get', 'nodes'], "unknown command 'get'", 'Did you mean '],
    [['stop'], "unknown command 'stop'", 'Did you mean "fairlead down"?'],
    [['frobnicate'], "unknown command 'frobnicate'", '"fairlead --help" lists the commands.'],
    [['help', 'cluster', 'craete'], "unknown command 'craete'", 'Did you mean "fairlead cluster create"?'],
    [['--output', 'yaml', 'up'], '"fairlead up" does not use --output', 'Add --help'],
    [['--data', '/x', 'up'], '--data must stand after up', 'Add --help'],
    [['cluster', 'list', '--ouptut', 'json'], "unknown option '--ouptut'", 'Did you mean --output?'],
    [['cluster', 'list', '--output', 'xml'], "option '-o, --output <format>' argument 'xml' is invalid", 'Add --help'],
    [['cluster', 'get'], "missing required argument 'cluster'", 'Add --help'],
    [['cluster', 'get', 'a', 'b'], 'too many arguments', 'Add --help'],
    [['up', '--once'], '--once needs --demo', ''],
    [['up', '--demo', '--once', '--detach'], "option '--detach' cannot be used with option '--once'", 'Add --help'],
    [
      ['up', '--demo', '--control-planes', '3', '--workers', '0'],
      '3 control planes need workers: only a single node goes without',
      'Ask for --workers 1 or more, or for --control-planes 1',
    ],
    [['up', '--provider', 'clouds'], "The provider 'clouds' is unknown", 'Known: lab'],
    [['up', '--demo', '--control-planes', '2'], 'It must be 1, 3 or 5', 'Add --help'],
    [['up', '--port', '70000'], 'It must be a whole number from 1 to 65535', 'Add --help'],
    [['up', '--kubernetes-version', 'latest'], 'Give a version like v1.34.4', 'Add --help'],
    [['cluster', 'create', 'demo', '--timeout', 'soon'], 'Give a duration like 90s', 'Add --help'],
    [['cluster', 'create', 'demo', '--timeout', '5m'], '--timeout needs --wait', ''],
    [['cluster', 'create', '-f', '/does/not/exist.yaml'], '/does/not/exist.yaml cannot be read', ''],
    [['token', 'create', 'ci', '--role', 'king'], 'Give <role>, <namespace>=<role>', 'Add --help'],
    [['token', 'list', '-n', 'team-a'], '"fairlead token list" does not use --namespace', 'Add --help'],
    [['--namespace', 'team-a', 'token', 'list'], '"fairlead token list" does not use --namespace', 'Add --help'],
    [['bundle', 'inspect', 'x', '--server=http://x'], '"fairlead bundle inspect" does not use --server', 'Add --help'],
    [['--server', 'ftp://x', 'cluster', 'list'], 'ftp://x is not the address of a server', 'Give one like'],
  ])('%j', async (args, sentence, help) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`Error: `);
    expect(stderr).toContain(sentence);
    expect(stderr).toContain(help);
  });

  it('is one line of JSON if JSON was requested', async () => {
    const { code, stderr } = await run(['cluster', 'lsit', '--output', 'json']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'cli.usage',
        message: "unknown command 'lsit'",
        help: expect.stringContaining('list'),
        exitCode: 2,
        class: 'usage',
      },
    });
  });

  it('is a group of commands alone, which explains itself', async () => {
    const { code, stderr } = await run(['cluster']);
    expect(code).toBe(2);
    expect(stderr).toContain('Usage: fairlead cluster');
    expect(stderr).not.toContain('Error:');
  });
});

describe('help', () => {
  it('exits with 0 and is printed on standard output', async () => {
    const { code, stdout, stderr } = await run(['cluster', 'create', '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Examples:');
  });

  it.each([
    [['help', 'cluster', 'create'], 'Usage: fairlead cluster create '],
    [['help', 'clusters', 'ls'], 'Usage: fairlead cluster list'],
    [['help', 'cluster'], 'Usage: fairlead cluster|clusters [options] [command]'],
    [['help'], 'Usage: fairlead [options]'],
    [['cluster', 'help', 'create'], 'Usage: fairlead cluster create '],
  ])('%j shows the help of that command', async (args, usage) => {
    const { code, stdout } = await run(args);
    expect(code).toBe(0);
    expect(stdout).toContain(usage);
  });

  it('lists the exit codes', async () => {
    const { stdout } = await run(['--help']);
    for (const { code, meaning } of Object.values(EXIT_CODES))
      expect(stdout).toMatch(new RegExp(`${code} {2}${meaning}`));
  });

  it('has an example for every command, and the program can parse each example', () => {
    for (const leaf of leavesOf(program())) {
      expect([leaf.name(), examplesOf(leaf).length]).not.toEqual([leaf.name(), 0]);
      for (const [line] of examplesOf(leaf)) expect([line, isUnderstood(line)]).toEqual([line, true]);
    }
  });
});

/** Parses the `fairlead …` part of an example without running it. */
const isUnderstood = (line: string): boolean => {
  const [, words = ''] = /(?:^|[|(] *)fairlead ([^|>&)]*)/.exec(line) ?? [];
  // The words after -- are a command for another machine.
  const [own = ''] = words.split(' -- ');
  const args = (own.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
  const parsed = program();
  const leaf = args.reduce<Command>(
    (command, word) =>
      command.commands.find((child) => child.name() === word || child.aliases().includes(word)) ?? command,
    parsed,
  );
  if (leaf === parsed) return false;
  const options = args.filter((word) => word.startsWith('-') && word.length > 1).map((word) => word.split('=')[0]);
  const known = [...leaf.options, ...(leaf.commands.find((child) => child.name() === 'show')?.options ?? [])];
  return options.every((option) => known.some(({ long, short }) => long === option || short === option));
};

it('prints its own version with both options', async () => {
  expect(await run(['--version'])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  expect((await run(['version', '--client', '--output', 'json'])).stdout).toContain(VERSION);
});

it('has the command reference in docs/cli.md (else: npm run generate)', () =>
  expect(readFileSync(join(CHECKOUT, 'docs', 'cli.md'), 'utf8')).toBe(referenceText(program())));

describe('exit classes', () => {
  it.each([
    [401, 'unauthorised'],
    [403, 'unauthorised'],
    [404, 'not-found'],
    [409, 'conflict'],
    [400, 'refused'],
    [422, 'refused'],
    [429, 'refused'],
    [503, 'unreachable'],
    [500, 'failed'],
  ] as const)('HTTP %d is %s', (status, exit) => expect(exitClassOfStatus(status)).toBe(exit));

  it('have distinct numbers', () => {
    const codes = Object.values(EXIT_CODES).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});

describe('completion', () => {
  it.each([
    [[''], ['up', 'down', 'cluster']],
    [
      ['cluster', ''],
      ['create', 'describe', 'delete'],
    ],
    [
      ['cluster', 'list', '--'],
      ['--output', '--namespace', '--help'],
    ],
    [
      ['cluster', 'list', '--output', ''],
      ['table', 'json', 'yaml', 'name'],
    ],
    [
      ['up', '--delays', ''],
      ['real', 'none'],
    ],
    [
      ['quarantine', 'release', 'x', '--mode', ''],
      ['retry', 'skip', 'replay'],
    ],
  ])('of %j offers %j', (words, offered) =>
    expect(candidatesFor(program(), words).words).toEqual(expect.arrayContaining(offered)),
  );

  it.each([
    [['cluster', 'get', ''], { names: 'cluster' }],
    [['node', 'remove', ''], { names: 'cluster' }],
    [['node', 'remove', 'demo', ''], { names: 'node', cluster: 'demo' }],
    [['audit', ''], { names: 'cluster' }],
    [['cluster', 'list', '-n', ''], { names: 'namespace' }],
    [['cluster', 'create', '--connection', ''], { names: 'connection' }],
    [['cluster', 'create', '-f', ''], { files: true }],
    [['-n', 'team-a', 'cluster', 'get', ''], { names: 'cluster' }],
  ])('of %j requests %j', (words, asked) => expect(candidatesFor(program(), words)).toMatchObject(asked));

  it('never offers commands that are meant for scripts', () =>
    expect(candidatesFor(program(), ['']).words).not.toContain('__complete'));

  it.each(['bash', 'zsh', 'fish'])('has a script for %s', async (shell) => {
    const { code, stdout } = await run(['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toContain('__complete --');
  });
});
