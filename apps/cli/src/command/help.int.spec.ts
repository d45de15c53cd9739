import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { buildProgram } from '../program.js';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { titleOf } from './command.js';

const COLUMNS = 80;
const io = () => ({ ...fakeIo(), outColumns: () => COLUMNS, errColumns: () => COLUMNS });

const allOf = (command: Command): readonly Command[] => [
  command,
  ...command.commands.filter((child) => !child.name().startsWith('__')).flatMap(allOf),
];

describe('help', () => {
  const titles = allOf(buildProgram(fakeIo())).map(titleOf);

  it.each(titles)('fits %i columns: %s'.replace('%i', String(COLUMNS)), async (title) => {
    const { code, stdout } = await run([...title.split(' ').slice(1), '--help'], io());
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => line.length > COLUMNS)).toEqual([]);
    expect(stdout).not.toContain('display help for command');
  });

  it('lists each command of the program in exactly one group', async () => {
    const { stdout } = await run(['--help'], io());
    expect([...stdout.matchAll(/^[A-Z][\w ]+:$/gm)].map(([heading]) => heading)).toEqual(
      expect.arrayContaining(['Clusters:', 'Nodes:', 'Upgrades and backups:', 'Access:', 'Operate Fairlead:']),
    );
    expect(stdout).not.toMatch(/^Commands:$/m);
  });

  it('lists each command once, with its summary', async () => {
    const { stdout } = await run(['--help'], io());
    const commands = buildProgram(fakeIo()).commands.filter((command) => !command.name().startsWith('__'));
    const listed = (name: string): number =>
      [...stdout.matchAll(/^ {2}([\w-]+)(?:\||\s)/gm)].filter(([, first]) => first === name).length;
    expect(commands.map((command) => command.name()).filter((name) => listed(name) !== 1)).toEqual([]);
    expect(commands.length).toBeGreaterThan(30);
  });

  it.each(titles)('shows what is its own before the shared options: %s', async (title) => {
    const { stdout } = await run([...title.split(' ').slice(1), '--help'], io());
    const [own = '', shared] = stdout.split(/^Shared options/m);
    if (title === 'fairlead') return expect(shared).toContain('--server');
    expect(own).not.toContain('output format: table');
    expect(stdout).not.toContain('(FAIRLEAD_SERVER');
    return expect(own).toMatch(/^Options:$/m);
  });

  it("lists shared options after the command's own, and describes them only once", async () => {
    const { stdout } = await run(['node', 'list', '--help'], io());
    expect(stdout.indexOf('--selector')).toBeLessThan(stdout.indexOf('Shared options (see "fairlead --help"):'));
    expect(stdout).not.toContain('address of the REST API');
    expect((await run(['--help'], io())).stdout).toContain('address of the REST API');
  });
});
