import { REFUSALS } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { buildProgram } from '../program.js';
import { fakeIo } from '../spec/io.fixtures.js';
import { inCommands } from './commands.text.js';

const ROUTE = /\b(GET|POST|PUT|PATCH|DELETE) \//;

/** Throws if the line is not a valid command with valid options. */
const check = (line: string): void => {
  const words = line.split(' ').slice(1);
  let command: Command = buildProgram(fakeIo());
  for (const word of words) command = command.commands.find((child) => child.name() === word) ?? command;
  for (const option of words.filter((word) => word.startsWith('-')))
    expect([line, command.options.some(({ long, short }) => option === long || option === short)]).toEqual([
      line,
      true,
    ]);
  expect([line, command.commands.length]).toEqual([line, 0]);
};

describe('the advice of a refusal', () => {
  it.each(Object.entries(REFUSALS))('%s names only commands that exist', (_code, { sentence, help }) => {
    for (const text of [sentence, help]) {
      const said = inCommands(text.replaceAll(/\{(\w+)\}/g, 'x'));
      expect(said).not.toMatch(ROUTE);
      expect(said).not.toMatch(/"fairlead [^"]*[()]/);
      for (const [, line = ''] of said.matchAll(/"(fairlead [^"]*)"/g)) check(line);
    }
  });

  it.each([
    ['List them with GET /ns/default/clusters.', 'List them with "fairlead cluster list".'],
    ['List them with GET /ns/team-a/clusters/demo/nodes.', 'List them with "fairlead node list demo -n team-a".'],
    ['See GET /nothing/that/we/know.', 'See GET /nothing/that/we/know.'],
  ])('%j becomes %j', (route, command) => expect(inCommands(route)).toBe(command));
});

it('no help of a command names a route', () => {
  const helps = (command: Command): readonly string[] => [
    command.helpInformation(),
    ...command.commands.flatMap((child) => helps(child)),
  ];
  expect(helps(buildProgram(fakeIo())).filter((text) => ROUTE.test(text))).toEqual([]);
});
