import { SERVICES, type SecretRef, type ServiceName } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { MasterKeyFile, NatsSecrets } from '@fairlead/service-kit';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kvm, type KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { ensureKeys } from '../up/keys.store.js';
import { provideStreams } from '../up/streams.effects.js';

const LIVING = 'u1';
const DELETED = 'u2';
const OWNERS = ['shared', LIVING, DELETED];
const SECRETS = SERVICES.flatMap((service) =>
  OWNERS.map((owner) => ({ service, owner, ref: `${service}.test.${owner}` as SecretRef })),
);
const RUNNING = readFileSync(new URL('../../../../docs/running.md', import.meta.url), 'utf8');
/** The paths that the backup command excludes. */
const LEFT_OUT = [...(/^tar .*fairlead-data\.tar\.gz.*$/m.exec(RUNNING)?.[0] ?? '').matchAll(/--exclude (\S+)/g)].map(
  ([, path = '']) => path,
);

let environment: TestEnvironment;
let backups: string;
const connections = new Map<ServiceName, NatsConnection>();
let masterKeyFile: string;

beforeEach(async () => {
  environment = await testEnvironment();
  ({ masterKeyFile } = ensureKeys(environment.dataDir));
  backups = newFolder('backups');
  await start();
}, 60_000);

afterEach(async () => {
  connections.clear();
  await environment?.stop();
  removeFolder(backups);
});

const start = async (): Promise<void> => {
  await provideStreams(environment.nats, environment.dataDir);
};

/** Runs `work` on the files of NATS while it is stopped, then starts it like `fairlead up`. */
const whileNatsIsDown = async (work: () => void): Promise<void> => {
  await Promise.all([...connections.values()].map((connection) => connection.close()));
  connections.clear();
  await environment.killNats();
  work();
  await environment.startNats();
  await start();
};

const connectionOf = async (service: ServiceName): Promise<NatsConnection> => {
  const connection = connections.get(service) ?? (await environment.connect(service));
  connections.set(service, connection);
  return connection;
};

/** A service that has just started: its cache is empty. */
const secretsOf = async (service: ServiceName): Promise<NatsSecrets> =>
  new NatsSecrets(await connectionOf(service), service, new MasterKeyFile(masterKeyFile));

const putAll = async (): Promise<void> => {
  for (const { service, ref, owner } of SECRETS) await (await secretsOf(service)).put(ref, `value of ${ref}`, owner);
};

const read = async (owner: string): Promise<readonly (string | undefined)[]> => {
  const found = SECRETS.filter((secret) => secret.owner === owner);
  return Promise.all(found.map(async ({ service, ref }) => (await secretsOf(service)).get(ref)));
};

const valuesOf = (owner: string): readonly string[] =>
  SECRETS.filter((secret) => secret.owner === owner).map(({ ref }) => `value of ${ref}`);
const nothing = SERVICES.map(() => undefined);

const deleteCluster = async (owner: string): Promise<void> => {
  for (const service of SERVICES) await (await secretsOf(service)).destroyKey(owner);
};

const backUpData = async (): Promise<void> => {
  const excluded = [...LEFT_OUT, './postgres'].flatMap((path) => ['--exclude', path]);
  const to = ['--create', '--gzip', '--file', join(backups, 'data.tar.gz'), '--directory', environment.dataDir];
  await whileNatsIsDown(() => execFileSync('tar', [...to, ...excluded, '.']));
};

const exportKeys = async (to: string): Promise<void> => {
  const arguments_ = ['keys', 'export', '--data', environment.dataDir, '--nats', environment.nats.url, '--to', to];
  const { code, stderr } = await run(arguments_, fakeIo({ cwd: backups }));
  expect([code, stderr]).toEqual([0, expect.stringContaining('keys of secrets are in')]);
};

const importFile = (): string => join(environment.dataDir, 'keys', 'owner-keys.json');

const restore = async (keys?: string): Promise<void> => {
  await whileNatsIsDown(() => {
    rmSync(join(environment.dataDir, 'nats', 'jetstream'), { recursive: true });
    execFileSync('tar', ['--extract', '--file', join(backups, 'data.tar.gz'), '--directory', environment.dataDir]);
    if (keys !== undefined) copyFileSync(join(backups, keys), importFile());
  });
};

const bucket = async (name: string): Promise<KV> => new Kvm(await environment.connect()).open(name);

describe('the keys of secrets, backed up separately from the data', () => {
  it('a backup from before a deletion, restored, opens nothing of the deleted cluster, and everything of the others', async () => {
    await putAll();
    await backUpData();
    await exportKeys('before.json');
    await deleteCluster(DELETED);
    await exportKeys('after.json');

    await restore('after.json');
    expect(await read(DELETED)).toEqual(nothing);
    expect(await read(LIVING)).toEqual(valuesOf(LIVING));
    expect(await read('shared')).toEqual(valuesOf('shared'));

    // The sealed values exist: an older copy of the destroyed keys would open them.
    await restore('before.json');
    expect(await read(DELETED)).toEqual(valuesOf(DELETED));
  }, 120_000);

  it('are not in any file of the data backup', async () => {
    await putAll();
    const sealed = (await (await bucket('SECRET_KEYS')).get(`bootstrap-svc.key.${LIVING}`))?.string() ?? '';
    const value = (await (await bucket('SECRETS')).get(`bootstrap-svc.test.${LIVING}`))?.string() ?? '';
    await backUpData();
    const archive = execFileSync('tar', ['--extract', '--to-stdout', '--file', join(backups, 'data.tar.gz')], {
      maxBuffer: 2 ** 28,
    });
    expect([archive.includes(value), archive.includes(sealed)]).toEqual([true, false]);
  }, 60_000);

  it('are exported to a file that only its owner may read, sealed with the master key', async () => {
    await putAll();
    await exportKeys('keys.json');
    const file = join(backups, 'keys.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { readonly keys: Readonly<Record<string, string>> };
    expect(Object.keys(keys).sort()).toEqual(SECRETS.map(({ service, owner }) => `${service}.key.${owner}`).sort());
    for (const sealed of Object.values(keys)) expect(sealed).toMatch(/^v2\./);
  }, 60_000);

  it('are imported once: the file is deleted afterwards, and a destroyed key is not restored', async () => {
    await putAll();
    await exportKeys('keys.json');
    await deleteCluster(DELETED);
    copyFileSync(join(backups, 'keys.json'), importFile());
    await start();
    expect(existsSync(importFile())).toBe(false);
    expect(await read(DELETED)).toEqual(nothing);
    expect(await read(LIVING)).toEqual(valuesOf(LIVING));
  }, 60_000);

  it('that are missing although there are secrets prevent the start from creating others', async () => {
    await putAll();
    await backUpData();
    await exportKeys('keys.json');
    await expect(restore()).rejects.toMatchObject({
      code: 'cli.owner-keys-missing',
      help: expect.stringContaining(importFile()),
    });
    writeFileSync(importFile(), '{}');
    await expect(start()).rejects.toMatchObject({ code: 'cli.owner-keys-invalid' });
    copyFileSync(join(backups, 'keys.json'), importFile());
    await start();
    expect(await read(LIVING)).toEqual(valuesOf(LIVING));
  }, 60_000);
});

describe('the keys of secrets of an earlier release, stored among the secrets', () => {
  beforeEach(async () => {
    await putAll();
    const [secrets, keys] = [await bucket('SECRETS'), await bucket('SECRET_KEYS')];
    for (const { service, owner } of SECRETS) {
      const name = `${service}.key.${owner}`;
      await secrets.put(name, (await keys.get(name))?.string() ?? '');
    }
    await (await environment.connect()).request('$JS.API.STREAM.DELETE.KV_SECRET_KEYS', '');
  }, 60_000);

  it('are moved by the next start, and every secret can be opened', async () => {
    await start();
    for (const owner of OWNERS) expect(await read(owner)).toEqual(valuesOf(owner));
    const left = [];
    for await (const name of await (await bucket('SECRETS')).keys('*.key.>')) left.push(name);
    expect(left).toEqual([]);
  }, 60_000);

  it('are neither exported nor resealed before that start', async () => {
    const before = readFileSync(masterKeyFile, 'utf8');
    for (const command of [
      ['rotate', 'master'],
      ['export', '--to', join(backups, 'keys.json')],
    ]) {
      const arguments_ = ['keys', ...command, '--data', environment.dataDir, '--nats', environment.nats.url];
      const { code, stderr } = await run(arguments_, fakeIo({ cwd: backups }));
      expect([code, stderr]).toEqual([6, expect.stringContaining('earlier release')]);
    }
    expect(readFileSync(masterKeyFile, 'utf8')).toBe(before);
    expect(existsSync(join(backups, 'keys.json'))).toBe(false);
  }, 60_000);
});
