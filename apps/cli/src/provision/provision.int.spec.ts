import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeIo, run } from '../spec/io.fixtures.js';

let folder: string;
beforeEach(() => {
  folder = newFolder('cli-data');
});
afterEach(() => removeFolder(folder));

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

describe('the folders of the holders of secrets', () => {
  const provide = async (...more: string[]): Promise<void> => {
    const { code, stderr } = await run(['provision', 'keys', '--data', 'data', ...more], fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([0, expect.stringContaining(`All keys and NATS credentials are in ${folder}/data`)]);
  };
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8');

  it('are made for a data folder from before there were any, with the keys and the token that it has', async () => {
    await provide('--secrets', 'unused');
    const before = Object.fromEntries(
      ['keys/master.key', 'keys/node-signing.json', 'creds/gateway.creds'].map((path) => [path, read(`data/${path}`)]),
    );
    writeFileSync(join(folder, 'data/keys/local.token'), 'the token of an administrator');
    writeFileSync(join(folder, 'data/keys/gateway.database-url'), 'postgres://gateway');

    await provide('--secrets', 'secrets');
    expect({
      'keys/master.key': read('secrets/upgrade-svc/master.key'),
      'keys/node-signing.json': read('secrets/bootstrap-svc/node-signing.json'),
      'creds/gateway.creds': read('secrets/gateway/nats.creds'),
    }).toEqual(before);
    expect(read('secrets/gateway-token/local.token')).toBe('the token of an administrator');
    expect(read('secrets/gateway/database-url')).toBe('postgres://gateway');
    for (const path of Object.keys(before)) expect([path, read(`data/${path}`)]).toEqual([path, before[path]]);
  });

  it('are in the data folder unless another place is given, and NATS finds its certificate there', async () => {
    await provide();
    const config = read('data/secrets/nats/nats.conf');
    expect(config).toContain(`cert_file: "${folder}/data/secrets/nats/nats-server.pem"`);
    expect(read('data/secrets/nats/nats-server.pem')).toBe(read('data/keys/nats-server.pem'));
  });

  it('keep a token that the gateway has replaced, and get a credential that was changed', async () => {
    await provide();
    mkdirSync(join(folder, 'data/secrets/gateway-token'), { recursive: true });
    writeFileSync(join(folder, 'data/keys/local.token'), 'the first one');
    writeFileSync(join(folder, 'data/secrets/gateway-token/local.token'), 'the one after it');
    writeFileSync(join(folder, 'data/secrets/gateway/nats.creds'), 'an outdated one');
    await provide();
    expect(read('data/secrets/gateway-token/local.token')).toBe('the one after it');
    expect(read('data/secrets/gateway/nats.creds')).toBe(read('data/creds/gateway.creds'));
  });
});

it('"fairlead provision stores" without keys names the command that makes them', async () => {
  const stores = ['--nats', 'nats://127.0.0.1:1', '--postgres', 'postgres://postgres@127.0.0.1:1/postgres'];
  const { code, stderr } = await run(['provision', 'stores', '--data', 'data', ...stores], fakeIo({ cwd: folder }));
  expect([code, stderr]).toEqual([5, expect.stringContaining(`fairlead provision keys --data ${folder}/data`)]);
  expect(existsSync(join(folder, 'data'))).toBe(false);
});
