import { SERVICES, type SecretRef, type ServiceName } from '@fairlead/contracts';
import {
  masterKeysText,
  newMasterKey,
  open,
  openOwnerKey,
  parseMasterKeys,
  type MasterKeys,
} from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { MasterKeyFile, NatsSecrets } from '@fairlead/service-kit';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { handOut } from '../provision/holders.store.js';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { ensureKeys } from '../up/keys.store.js';
import { rotateDataKeys, type DataRotationWorld } from './data.rotation.effects.js';
import { rotateMaster, type RotationWorld } from './master.rotation.effects.js';
import { natsOwnerKeys, natsSealedSecrets, type OwnerKeys } from '../instance/owner.keys.store.js';

let environment: TestEnvironment;
let admin: NatsConnection;
let connections: Readonly<Record<ServiceName, NatsConnection>>;
let masterKeyFile: string;
let secretsDir: string;

beforeAll(async () => {
  environment = await testEnvironment();
  admin = await environment.connect('admin');
  await ensureStreams(admin);
  const each = await Promise.all(SERVICES.map(async (name) => [name, await environment.connect(name)] as const));
  connections = Object.fromEntries(each) as typeof connections;
  ({ masterKeyFile } = ensureKeys(environment.dataDir));
  secretsDir = join(environment.dataDir, 'secrets');
  mkdirSync(secretsDir);
  handOut({ dataDir: environment.dataDir, secretsDir }, SERVICES);
}, 60_000);

afterAll(async () => {
  await environment?.stop();
});

/** A service with its distributed copy of the file. */
const secretsOf = (service: ServiceName): NatsSecrets =>
  new NatsSecrets(connections[service], service, new MasterKeyFile(join(secretsDir, service, 'master.key')));

const OWNERS = ['shared', 'u1', 'u2', 'u3'];
const SECRETS = SERVICES.flatMap((service) =>
  OWNERS.map((owner) => ({ service, owner, ref: `${service}.test.${owner}` as SecretRef })),
);

const put = async (): Promise<void> => {
  for (const { service, ref, owner } of SECRETS) await secretsOf(service).put(ref, `value of ${ref}`, owner);
};

/** Reads all secrets of all services with an empty cache. */
const readAll = async (): Promise<void> => {
  for (const { service, ref } of SECRETS)
    expect([ref, await secretsOf(service).get(ref)]).toEqual([ref, `value of ${ref}`]);
};

const masterKeys = (): MasterKeys => parseMasterKeys(readFileSync(masterKeyFile, 'utf8'));

const world = async (): Promise<RotationWorld> => ({
  ownerKeys: await natsOwnerKeys(admin),
  readMasterKeys: masterKeys,
  writeMasterKeys: (keys) => writeFileSync(masterKeyFile, masterKeysText(keys)),
  handOut: () => handOut({ dataDir: environment.dataDir, secretsDir }, SERVICES),
  settle: () => Promise.resolve(),
});

/** All keys of owners in the bucket. */
const sealedKeys = async (): Promise<ReadonlyMap<string, string>> => {
  const keys: OwnerKeys = await natsOwnerKeys(admin);
  const entries = await Promise.all((await keys.names()).map(async (name) => [name, await keys.read(name)] as const));
  return new Map(entries.flatMap(([name, entry]) => (entry === undefined ? [] : [[name, entry.sealed] as const])));
};

const opensAnything = async (keys: MasterKeys): Promise<boolean> =>
  [...(await sealedKeys())].some(([name, sealed]) => openOwnerKey(keys, sealed, name) !== undefined);

describe('a rotation of the keys of owners', () => {
  beforeEach(put);

  const dataWorld = async (): Promise<DataRotationWorld> => ({
    ownerKeys: await natsOwnerKeys(admin),
    secrets: await natsSealedSecrets(admin),
    readMasterKeys: masterKeys,
    forgotten: () => Promise.resolve(),
  });

  const keysOfOwners = async (): Promise<ReadonlyMap<string, string>> =>
    new Map(
      [...(await sealedKeys())].map(([name, sealed]) => [
        name,
        openOwnerKey(masterKeys(), sealed, name)?.key.toString('hex') ?? '',
      ]),
    );

  /** All sealed values that one of these keys opens. */
  const openedBy = async (keys: ReadonlyMap<string, string>): Promise<readonly string[]> => {
    const secrets = await natsSealedSecrets(admin);
    const found: string[] = [];
    for (const ref of await secrets.names()) {
      const { owner, value } = JSON.parse((await secrets.read(ref))?.text ?? '{}') as Record<string, string>;
      const key = Buffer.from(keys.get(`${ref.split('.')[0]}.key.${owner}`) ?? '', 'hex');
      if (key.length === 32 && opens(key, value ?? '', ref)) found.push(ref);
    }
    return found;
  };
  const opens = (key: Buffer, value: string, ref: string): boolean => {
    try {
      return open(key, value, ref).length >= 0;
    } catch {
      return false;
    }
  };

  it('re-encrypts everything: each secret is readable, and no former key opens one [ORBITER 28]', async () => {
    const before = await keysOfOwners();
    expect((await openedBy(before)).length).toBeGreaterThanOrEqual(SECRETS.length);
    expect(await rotateDataKeys(await dataWorld())).toBeGreaterThanOrEqual(SECRETS.length);
    await readAll();
    expect(await openedBy(before)).toEqual([]);
    const after = await keysOfOwners();
    expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
    expect([...after.values()].every((key) => key.length === 64)).toBe(true);
  });

  it('continues after a crash in each of its steps, with every secret readable in between, also by services with a cache', async () => {
    const cached = SERVICES.map((service) => [service, secretsOf(service)] as const);
    const before = await keysOfOwners();
    const real = await dataWorld();
    const owners = before.size;
    const secrets = (await real.secrets.names()).length;
    // In the announcement, the switch, the resealing and at the end.
    for (const survived of [owners >> 1, owners >> 1, owners, secrets >> 1, secrets + (owners >> 1)]) {
      let left = survived;
      const mortal = <Entries extends Pick<OwnerKeys, 'replace'>>(entries: Entries): Entries => ({
        ...entries,
        replace: (name: string, text: string, revision: number) => {
          if (left === 0) throw new Error('crash');
          left -= 1;
          return entries.replace(name, text, revision);
        },
      });
      const world = { ...real, ownerKeys: mortal(real.ownerKeys), secrets: mortal(real.secrets) };
      await rotateDataKeys(world).catch((error: unknown) => expect(error).toEqual(new Error('crash')));
      await readAll();
      for (const [service, held] of cached)
        expect(await held.get(`${service}.test.shared` as SecretRef)).toBe(`value of ${service}.test.shared`);
    }
    await rotateDataKeys(real);
    await readAll();
    expect(await openedBy(before)).toEqual([]);
  }, 120_000);

  it('does not restore a key that is destroyed meanwhile, and destroys nothing where a secret opens with no key', async () => {
    const real = await dataWorld();
    await rotateDataKeys({ ...real, forgotten: () => secretsOf('gateway').destroyKey('u2') });
    expect(await secretsOf('gateway').get('gateway.test.u2' as SecretRef)).toBeUndefined();
    const kv = await new Kvm(admin).open('SECRETS');
    await kv.put('gateway.test.moved', JSON.stringify({ owner: 'u3', value: 'AAAA' }));
    try {
      await expect(rotateDataKeys(real)).rejects.toMatchObject({ code: 'cli.secrets-unreadable' });
      await kv.purge('gateway.test.u2');
    } finally {
      await kv.purge('gateway.test.moved');
    }
    await put();
    await rotateDataKeys(real);
    await readAll();
  });
});

describe('a rotation of the master key', () => {
  beforeEach(put);

  it('keeps every secret readable, and the former key opens nothing [ORBITER 28]', async () => {
    const before = masterKeys();
    expect(await opensAnything(before)).toBe(true);
    const { resealed } = await rotateMaster(await world(), newMasterKey());
    expect(resealed).toBe(SECRETS.length);
    await readAll();
    const after = masterKeys();
    expect([after.other, after.current.id === before.current.id]).toEqual([undefined, false]);
    expect(await opensAnything(before)).toBe(false);
    const old = new NatsSecrets(connections.gateway, 'gateway', before.current.key);
    await expect(old.get('gateway.test.shared' as SecretRef)).rejects.toThrow(/another master key/);
  });

  it('makes an older copy of the keys useless, for owners that were destroyed since and for all others', async () => {
    const kv = await new Kvm(admin).open('SECRET_KEYS');
    const copy = await sealedKeys();
    const readWithCopy = async (service: ServiceName, ref: string): Promise<string | undefined> => {
      for (const [name, sealed] of copy) await kv.put(name, sealed);
      return secretsOf(service).get(ref as SecretRef);
    };
    await secretsOf('bootstrap-svc').destroyKey('u1');
    expect(await readWithCopy('bootstrap-svc', 'bootstrap-svc.test.u1')).toBe('value of bootstrap-svc.test.u1');
    await secretsOf('bootstrap-svc').destroyKey('u1');
    await rotateMaster(await world(), newMasterKey());
    await expect(readWithCopy('bootstrap-svc', 'bootstrap-svc.test.u1')).rejects.toThrow(/another master key/);
    await expect(readWithCopy('gateway', 'gateway.test.shared')).rejects.toThrow(/another master key/);
    for (const name of copy.keys()) await kv.purge(name);
  });

  it('continues after a crash before and after each effect, with every secret readable in between', async () => {
    let crashes = 0;
    for (let survived = 0; ; survived += 1) {
      await put();
      const before = masterKeys();
      let left = survived;
      const mortal =
        <Arguments extends unknown[], Result>(effect: (...given: Arguments) => Result) =>
        (...given: Arguments): Result => {
          if (left === 0) throw new Error('crash');
          left -= 1;
          return effect(...given);
        };
      const real = await world();
      const crashing: RotationWorld = {
        ...real,
        ownerKeys: { ...real.ownerKeys, replace: mortal(real.ownerKeys.replace) },
        writeMasterKeys: mortal(real.writeMasterKeys),
        handOut: mortal(real.handOut),
      };
      const outcome = await rotateMaster(crashing, newMasterKey()).catch((error: unknown) => error);
      await readAll();
      if (!(outcome instanceof Error)) break;
      expect(outcome.message).toBe('crash');
      crashes += 1;
      await rotateMaster(real, newMasterKey());
      await readAll();
      const after = masterKeys();
      expect(after.other).toBeUndefined();
      expect(after.current.id === before.current.id).toBe(false);
      expect(await opensAnything(before)).toBe(false);
    }
    expect(crashes).toBeGreaterThan(SECRETS.length + 6);
  }, 120_000);

  it('loses nothing that services seal concurrently, for old and new owners', async () => {
    const before = masterKeys();
    const running = SERVICES.map((service) => ({ service, secrets: secretsOf(service) }));
    const made: { readonly service: ServiceName; readonly ref: SecretRef }[] = [];
    let rotating = true;
    const sealing = running.map(async ({ service, secrets }) => {
      for (let index = 0; rotating; index += 1) {
        const ref = `${service}.meanwhile.m${index}` as SecretRef;
        await secrets.put(ref, `value of ${ref}`, `meanwhile-${index}`);
        expect(await secrets.get(ref)).toBe(`value of ${ref}`);
        made.push({ service, ref });
      }
    });
    const settle = async (): Promise<void> => {
      const sealedBefore = made.length;
      await eventually(() => made.length > sealedBefore + 20);
    };
    await rotateMaster({ ...(await world()), settle }, newMasterKey());
    rotating = false;
    await Promise.all(sealing);
    expect(made.length).toBeGreaterThan(20);
    for (const { service, ref } of made) expect(await secretsOf(service).get(ref)).toBe(`value of ${ref}`);
    await readAll();
    expect(await opensAnything(before)).toBe(false);
  }, 60_000);

  it('does not restore a key that was destroyed during the rotation', async () => {
    const real = await world();
    const late: RotationWorld = {
      ...real,
      ownerKeys: {
        ...real.ownerKeys,
        replace: async (name, sealed, revision) => {
          if (name === 'gateway.key.u1') await secretsOf('gateway').destroyKey('u1');
          return real.ownerKeys.replace(name, sealed, revision);
        },
      },
    };
    await rotateMaster(late, newMasterKey());
    expect((await sealedKeys()).has('gateway.key.u1')).toBe(false);
    expect(await secretsOf('gateway').get('gateway.test.u1' as SecretRef)).toBeUndefined();
  });

  it('destroys nothing if neither master key opens a key', async () => {
    const kv = await new Kvm(admin).open('SECRET_KEYS');
    await kv.put('gateway.key.foreign', 'AAAA');
    try {
      await expect(rotateMaster(await world(), newMasterKey())).rejects.toMatchObject({
        code: 'cli.keys-unreadable',
        message: expect.stringContaining('gateway.key.foreign'),
      });
      expect(masterKeys().other?.role).toBe('previous');
      await readAll();
    } finally {
      await kv.purge('gateway.key.foreign');
    }
    expect((await rotateMaster(await world(), newMasterKey())).resumed).toBe(true);
    await readAll();
  });

  it('includes keys that an earlier release sealed', async () => {
    const kv = await new Kvm(admin).open('SECRET_KEYS');
    for (const [name, sealed] of await sealedKeys()) await kv.put(name, sealed.split('.')[2] ?? '');
    await readAll();
    await rotateMaster(await world(), newMasterKey());
    await readAll();
  });
});

describe('fairlead keys rotate nats', () => {
  it('is refused while Fairlead runs in the data folder', async () => {
    const before = readFileSync(join(environment.dataDir, 'keys', 'nats-operator.json'), 'utf8');
    const { code, stderr } = await run(
      ['keys', 'rotate', 'nats', '--data', environment.dataDir],
      fakeIo({ cwd: environment.dataDir }),
    );
    expect([code, stderr]).toEqual([6, expect.stringContaining('is in use by process')]);
    expect(readFileSync(join(environment.dataDir, 'keys', 'nats-operator.json'), 'utf8')).toBe(before);
  });

  it('issues new credentials, and a NATS certificate with another key, at the next "provision keys"', async () => {
    const folder = newFolder('keys');
    try {
      const io = fakeIo({ cwd: folder });
      const read = (path: string): string => readFileSync(join(folder, 'data', path), 'utf8');
      const held = ['gateway/nats.creds', 'upgrade-svc/nats.creds', 'bootstrap-svc/node-signing.json'].concat(
        'nats/nats.conf',
        'nats/nats-server.pem',
      );
      const all = () => held.map((name) => [name, read(`secrets/${name}`)]);
      expect((await run(['provision', 'keys', '--data', 'data'], io)).code).toBe(0);
      const before = all();
      const authority = read('secrets/gateway/nats-ca.pem');
      expect((await run(['keys', 'rotate', 'nats', '--data', 'data'], io)).code).toBe(0);
      expect(all()).toEqual(before);
      expect((await run(['provision', 'keys', '--data', 'data'], io)).code).toBe(0);
      for (const [index, entry] of all().entries()) expect(entry).not.toEqual(before[index]);
      expect(read('secrets/gateway/nats-ca.pem')).toBe(authority);
    } finally {
      removeFolder(folder);
    }
  });
});

describe('fairlead keys rotate master', () => {
  const rotate = (...more: string[]) =>
    run(['keys', 'rotate', 'master', '--data', environment.dataDir, ...more], fakeIo({ cwd: environment.dataDir }));

  it('rotates with the administrator`s credential of the data folder, and distributes the new key', async () => {
    await put();
    const before = masterKeys();
    const { code, stderr } = await rotate('--nats', environment.nats.url);
    expect([code, stderr]).toEqual([0, expect.stringContaining('The master key was rotated')]);
    expect(stderr).toContain(
      `${(await natsSealedSecrets(admin).then(({ names }) => names())).length} secrets were resealed`,
    );
    await readAll();
    expect(await opensAnything(before)).toBe(false);
    for (const service of SERVICES)
      expect(readFileSync(join(secretsDir, service, 'master.key'), 'utf8')).toBe(readFileSync(masterKeyFile, 'utf8'));
  }, 240_000);

  it('reports a missing address of NATS, and a concurrent rotation', async () => {
    expect(await rotate()).toMatchObject({ code: 2, stderr: expect.stringContaining('--nats is not given') });
    const lock = join(environment.dataDir, 'keys', 'rotation.lock');
    const { takeLock } = await import('@fairlead/embedded');
    const held = takeLock(lock);
    try {
      const { stderr } = await rotate('--nats', environment.nats.url);
      expect(stderr).toContain('rotates keys of this data folder already');
    } finally {
      if (held.status === 'taken') held.release();
    }
  });
});
