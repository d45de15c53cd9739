import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
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

    it('because it is a file ends with a message about it, and the file is not changed', async () => {
      writeFileSync(join(folder, 'data'), 'mine');
      expect(await ending('data')).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`Error: The data folder ${folder}/data cannot be made: EEXIST`),
      });
      expect(readFileSync(join(folder, 'data'), 'utf8')).toBe('mine');
    });

    it('because a parent is a file ends with a message about it', async () => {
      writeFileSync(join(folder, 'data'), '');
      expect(await ending('data/below')).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`Error: The data folder ${folder}/data/below cannot be made: ENOTDIR`),
      });
    });
  },
);

describe('the keys of "fairlead provision keys"', () => {
  it('cannot replace a file with that name, and the command reports it', async () => {
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

  it('are created for an older data folder, with its existing keys and token', async () => {
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

  it('are in the data folder by default, and NATS finds its certificate there', async () => {
    await provide();
    const config = read('data/secrets/nats/nats.conf');
    expect(config).toContain(`cert_file: "${folder}/data/secrets/nats/nats-server.pem"`);
    expect(read('data/secrets/nats/nats-server.pem')).toBe(read('data/keys/nats-server.pem'));
  });

  it('keep a token that the gateway has replaced, and receive a changed credential', async () => {
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

it('"fairlead provision stores" without keys names the command that creates them', async () => {
  const stores = ['--nats', 'nats://127.0.0.1:1', '--postgres', 'postgres://postgres@127.0.0.1:1/postgres'];
  const { code, stderr } = await run(['provision', 'stores', '--data', 'data', ...stores], fakeIo({ cwd: folder }));
  expect([code, stderr]).toEqual([5, expect.stringContaining(`fairlead provision keys --data ${folder}/data`)]);
  expect(existsSync(join(folder, 'data'))).toBe(false);
});

describe('replicas', () => {
  const stores = ['provision', 'stores', '--data', 'data', '--nats', 'nats://127.0.0.1:1'];
  const postgres = ['--postgres', 'postgres://postgres@127.0.0.1:1/postgres'];

  it.each([['2'], ['0'], ['three']])('are 1, 3 or 5, and not %s', async (count) => {
    const { code, stderr } = await run([...stores, ...postgres, '--replicas', count], fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([2, expect.stringContaining('It must be 1, 3 or 5.')]);
    const io = fakeIo({ cwd: folder, env: { FAIRLEAD_REPLICAS: count } });
    expect(await run([...stores, ...postgres], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`FAIRLEAD_REPLICAS is '${count}'. It must be 1, 3 or 5.`),
    });
  });

  it('require a NATS cluster: "fairlead up" refuses them for the single server that it starts', async () => {
    const up = ['up', '--data', 'data', '--replicas', '3'];
    const { code, stderr } = await run(up, fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([2, expect.stringContaining('--replicas 3 needs a NATS cluster of at least 3')]);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});

describe('a NATS cluster', () => {
  it('has one configuration for all servers, and a certificate for the connections between them', async () => {
    const keys = ['provision', 'keys', '--nats-host', '0.0.0.0'];
    expect((await run([...keys, '--data', 'single'], fakeIo({ cwd: folder }))).code).toBe(0);
    const single = new X509Certificate(readFileSync(join(folder, 'single/secrets/nats/nats-server.pem')));
    expect(single.keyUsage).toEqual([SERVER_AUTH]);

    const hosts = ['nats-1', '192.0.2.2', '2001:db8::3'];
    const io = fakeIo({ cwd: folder, env: { FAIRLEAD_NATS_CLUSTER: hosts.join(',') } });
    const { stderr } = await run([...keys, '--data', 'data', '--store-dir', '/srv/nats'], io);
    expect(stderr).toContain('start NATS on each of nats-1, 192.0.2.2, 2001:db8::3 with');
    const config = readFileSync(join(folder, 'data/secrets/nats/nats.conf'), 'utf8');
    expect(config).toContain('store_dir: "/srv/nats/cluster"');
    expect(config).not.toContain('server_name');
    expect(config).toContain('routes: ["nats://nats-1:6222", "nats://192.0.2.2:6222", "nats://[2001:db8::3]:6222"]');
    expect(config).toContain(`ca_file: "${folder}/data/secrets/nats/nats-ca.pem"`);
    const shared = new X509Certificate(readFileSync(join(folder, 'data/secrets/nats/nats-server.pem')));
    expect(shared.keyUsage).toEqual([SERVER_AUTH, CLIENT_AUTH]);
    expect(hosts.map((host) => (isIP(host) === 0 ? shared.checkHost(host) : shared.checkIP(host)))).not.toContain(
      undefined,
    );
  });

  it('cannot be created from a single server, whose streams it would delete, and vice versa', async () => {
    const keys = ['provision', 'keys', '--data', 'data'];
    const cluster = ['--nats-cluster', 'nats-1', '--nats-cluster', 'nats-2', '--nats-cluster', 'nats-3'];
    const config = (): string => readFileSync(join(folder, 'data/nats.conf'), 'utf8');
    expect((await run(keys, fakeIo({ cwd: folder }))).code).toBe(0);
    const before = config();
    const { code, stderr } = await run([...keys, ...cluster], fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining('is a single server: a cluster would not have its streams'),
    ]);
    expect(config()).toBe(before);

    rmSync(join(folder, 'data/nats.conf'));
    expect((await run([...keys, ...cluster], fakeIo({ cwd: folder }))).code).toBe(0);
    expect((await run(keys, fakeIo({ cwd: folder }))).stderr).toContain('is a cluster: a single server would not have');
  });
});

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
