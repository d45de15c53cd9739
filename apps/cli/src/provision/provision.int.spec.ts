import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeIo, run } from '../spec/io.fixtures.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-cli-data-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.each([['provision keys'], ['up'], ['up --detach'], ['up --provider nspawn']])(
  'a data folder that "fairlead %s" cannot use',
  (command) => {
    const ending = async (data: string): Promise<unknown> => {
      const { code, stdout, stderr } = await run([...command.split(' '), '--data', data], fakeIo({ cwd: folder }));
      return { code, stdout, stderr };
    };

    it('because a file is in its place ends with a sentence on it, and the file is left alone', async () => {
      writeFileSync(join(folder, 'data'), 'mine');
      expect(await ending('data')).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`Error: The data folder ${folder}/data cannot be made: EEXIST`),
      });
      expect(readFileSync(join(folder, 'data'), 'utf8')).toBe('mine');
    });

    it('because a file is above it ends with a sentence on it', async () => {
      writeFileSync(join(folder, 'data'), '');
      expect(await ending('data/below')).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`Error: The data folder ${folder}/data/below cannot be made: ENOTDIR`),
      });
    });
  },
);

describe('the keys that "fairlead provision keys" makes', () => {
  it('cannot be where a file of that name is, and the command says so', async () => {
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data', 'keys'), '');
    const { code, stderr } = await run(['provision', 'keys', '--data', 'data'], fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^Error: E(EXIST|NOTDIR): .*data\/keys/)]);
    expect(existsSync(join(folder, 'data', 'lock'))).toBe(false);
  });
});

it('"fairlead provision stores" without keys names the command that makes them', async () => {
  const stores = ['--nats', 'nats://127.0.0.1:1', '--postgres', 'postgres://postgres@127.0.0.1:1/postgres'];
  const { code, stderr } = await run(['provision', 'stores', '--data', 'data', ...stores], fakeIo({ cwd: folder }));
  expect([code, stderr]).toEqual([5, expect.stringContaining(`fairlead provision keys --data ${folder}/data`)]);
  expect(existsSync(join(folder, 'data'))).toBe(false);
});
