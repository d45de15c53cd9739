import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fakeIo, run } from '../spec/io.fixtures.js';

let folder: string;
beforeEach(() => {
  folder = newFolder('init');
});
afterEach(() => removeFolder(folder));

const init = (...args: readonly string[]) => run(['init', ...args], fakeIo({ cwd: folder }));
const verdict = (text: string) => run(['validate', '-f', '-'], fakeIo({ stdin: text, cwd: folder }));

const SHAPES = [
  [],
  ['shop', '--provider', 'ssh', '--connection', 'site', '--machine-type', 'rack.large'],
  ['shop', '--provider', 'nspawn', '--control-planes', '5', '--workers', '4', '--cni', 'cilium'],
  ['small', '--workers', '0', '--namespace', 'team-a', '--kubernetes-version', '1.35.4'],
];

describe('fairlead init', () => {
  it.each(SHAPES)('prints a manifest that is valid as it is: %j', async (...args) => {
    const { code, stdout, stderr } = await init(...args);
    expect([code, stderr]).toEqual([0, '']);
    expect((await verdict(stdout)).stderr).toBe('');
  });

  it.each(SHAPES)('suggests only fields that are valid too: %j', async (...args) => {
    const { stdout } = await init(...args);
    const used = stdout.replaceAll(/^(\s*)#(?=\w)/gm, '$1');
    expect(used).not.toBe(stdout);
    expect((await verdict(used)).stderr).toBe('');
  });

  it('names a schema that is there, whether it prints or writes', async () => {
    const printed = /^# yaml-language-server: \$schema=(\S+)\n/.exec((await init()).stdout)?.[1] ?? '';
    expect(existsSync(fileURLToPath(printed))).toBe(true);
    expect((await init('demo', '-f', 'demo.yaml')).stderr).toContain('cluster.schema.json beside it');
    const written = readFileSync(join(folder, 'demo.yaml'), 'utf8');
    expect(written).toMatch(/^# yaml-language-server: \$schema=\.\/cluster\.schema\.json\n/);
    expect(readFileSync(join(folder, 'cluster.schema.json'), 'utf8')).toBe((await run(['schema'], fakeIo())).stdout);
  });

  it('replaces a file only with an explicit option', async () => {
    await init('demo', '-f', 'demo.yaml');
    const again = await init('shop', '-f', 'demo.yaml');
    expect([again.code, again.stderr]).toEqual([6, expect.stringContaining('exists already')]);
    expect(readFileSync(join(folder, 'demo.yaml'), 'utf8')).toContain('name: demo');
    expect((await init('shop', '-f', 'demo.yaml', '--force')).code).toBe(0);
  });

  it.each([
    [['Shop!'], 'Field: metadata.name'],
    [['shop', '--kubernetes-version', '1.2.3'], 'v1.2.3'],
    [['shop\nspec: {}'], 'Error:'],
    [['shop', '--control-planes', '3', '--workers', '0'], 'cluster.single-node'],
  ])('writes nothing that the server would refuse: %j', async (args, words) => {
    const { code, stdout, stderr } = await init(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(words);
  });
});
