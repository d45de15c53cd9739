import { namespaceStream, SNAPSHOTS_BUCKET, STREAMS, type Fact, type SecretRef } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams, JetStreamStore, readAll, sha256 } from '@fairlead/event-sourcing/jetstream';
import { MasterKeyFile, NatsSecrets } from '@fairlead/service-kit';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { createUser } from '@nats-io/nkeys';
import { Objm } from '@nats-io/obj';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ensureKeys } from '../up/keys.store.js';
import {
  activateTarget,
  cancelHandover,
  exportInstallation,
  importInstallation,
  prepareTarget,
  releaseSource,
  type Fresh,
} from './handover.effects.js';
import { Header } from './handover.file.js';
import { writeHandover, type Content } from './handover.file.store.js';
import type { Installation } from './handover.ports.js';
import { installationAt } from './installation.store.js';

const ALL_STREAMS = [...Object.values(STREAMS), 'KV_SECRETS', 'KV_SECRET_KEYS', `OBJ_${SNAPSHOTS_BUCKET}`];
const SNAPSHOT = randomBytes(300_000);
const SECRET = 'bootstrap-svc.kubeconfig.u1' as SecretRef;
const cause = { actor: 'user/alice', correlationId: 'c', causationId: 'c' };

interface Side {
  readonly environment: TestEnvironment;
  readonly admin: NatsConnection;
  readonly installation: Installation;
}

class Crash extends Error {}

/**
 * An installation that becomes unreachable after this number of calls: before the last call takes effect, or after it.
 */
const crashingAfter = (calls: number, when: 'before' | 'after', inner: Installation): Installation => {
  let left = calls;
  return new Proxy(inner, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]): unknown => {
        if (left === 0 && when === 'before') throw new Crash(String(name));
        const result = method(...args);
        if (left === 0) {
          if (!(result instanceof Promise)) throw new Crash(String(name));
          return result.then(() => {
            throw new Crash(String(name));
          });
        }
        left -= 1;
        return result;
      };
    },
  });
};

let folder: string;
let source: Side;
let target: Side;

const sideOf = async (): Promise<Side> => {
  const environment = await testEnvironment();
  ensureKeys(environment.dataDir);
  const admin = await environment.connect('admin');
  return { environment, admin, installation: installationAt(admin, { dataDir: environment.dataDir, silentMs: 0 }) };
};

const emptied = async ({ admin, environment }: Side): Promise<void> => {
  const jsm = await jetstreamManager(admin);
  for (const name of ALL_STREAMS) await jsm.streams.delete(name).catch(() => undefined);
  await ensureStreams(admin);
  for (const file of ['handover.json', 'handover.seed'])
    rmSync(join(environment.dataDir, 'keys', file), { force: true });
};

const storeOf = (nc: NatsConnection): JetStreamStore =>
  new JetStreamStore({ nc, source: '/gateway', now: () => new Date(), newId: randomUUID });

const created = (namespace: string): Fact =>
  ({ type: 'NamespaceCreated', data: { name: namespace, description: '' } }) as Fact;

const START = { seq: 0, streamVersion: 0, hash: '0'.repeat(64) };

const stateFacts = async ({ admin }: Side, count: number): Promise<void> => {
  for (let index = 0; index < count; index += 1) {
    const namespace = `n${randomUUID().slice(0, 8)}`;
    // Every second event is appended in an atomic batch, whose headers must not be sent again.
    const facts = index % 2 === 0 ? [created(namespace)] : [created(namespace), created(namespace)];
    const appended = await storeOf(admin).append(namespaceStream(namespace), START, facts, cause);
    expect(appended.kind).toBe('appended');
  }
};

const logOf = async ({ admin }: Side): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const batch of readAll(admin, 'evt.>', 0))
    found.push(...batch.map(({ subject, seq, bytes }) => `${seq} ${subject} ${sha256(bytes)}`));
  return found;
};

/** Whether NATS accepts events, as single messages and as batches, from an authorized publisher. */
const takesEvents = async (side: Side): Promise<boolean> => {
  const answers = await Promise.all(
    [1, 2].map(async (count) => {
      const namespace = `p${randomUUID().slice(0, 8)}`;
      const facts = Array.from({ length: count }, () => created(namespace));
      return storeOf(side.admin)
        .append(namespaceStream(namespace), START, facts, cause)
        .then(
          () => true,
          () => false,
        );
    }),
  );
  expect(new Set(answers).size).toBe(1);
  return answers[0] === true;
};

const secretsOf = async ({ environment }: Side): Promise<NatsSecrets> =>
  new NatsSecrets(
    await environment.connect('bootstrap-svc'),
    'bootstrap-svc',
    new MasterKeyFile(ensureKeys(environment.dataDir).masterKeyFile),
  );

const fresh = (): Fresh => ({
  id: randomUUID(),
  code: randomBytes(24).toString('base64url'),
  at: new Date().toISOString(),
});
const file = (): string => join(folder, 'fairlead.handover');

beforeAll(async () => {
  folder = newFolder('handover');
  [source, target] = await Promise.all([sideOf(), sideOf()]);
}, 60_000);
afterAll(async () => {
  await Promise.all([source?.environment.stop(), target?.environment.stop()]);
  removeFolder(folder);
});
beforeEach(async () => {
  await Promise.all([emptied(source), emptied(target)]);
  await stateFacts(source, 6);
  await (await secretsOf(source)).put(SECRET, 'a kubeconfig', 'u1');
  const snapshots = await new Objm(source.admin).open(SNAPSHOTS_BUCKET);
  await snapshots.putBlob({ name: 'snapshot' }, SNAPSHOT);
});

interface Sides {
  readonly from: Installation;
  readonly to: Installation;
}

const both = (): Sides => ({ from: source.installation, to: target.installation });

/** All steps of the operators, in order; each may be repeated. */
const handOver = async ({ from, to }: Sides, once: Fresh): Promise<void> => {
  const key = await prepareTarget(to);
  const { source: signer } = await exportInstallation(from, { target: key, file: file() }, once);
  const { receipt } = await importInstallation(to, { file: file(), source: signer });
  const { code } = await releaseSource(from, receipt);
  await activateTarget(to, code);
};

/**
 * Which of the two has the clusters and may act: an empty installation owns nothing, and no service runs during an
 * import.
 */
const holders = async (): Promise<readonly boolean[]> => {
  const { record } = await target.installation.state();
  const mayOwn = record !== undefined && record.state !== 'importing';
  return [await takesEvents(source), mayOwn && (await takesEvents(target))];
};

describe('an installation that is handed over', () => {
  it('is copied to the target event by event, with its sequences, ids, hash chains, secrets and snapshots [Cluster API 32]', async () => {
    const before = await logOf(source);
    await handOver(both(), fresh());
    expect(await logOf(target)).toEqual(before);
    expect(await (await secretsOf(target)).get(SECRET)).toBe('a kubeconfig');
    const snapshots = await new Objm(target.admin).open(SNAPSHOTS_BUCKET);
    expect(Buffer.from((await snapshots.getBlob('snapshot')) ?? [])).toEqual(SNAPSHOT);
    expect(await holders()).toEqual([false, true]);
    expect(await target.installation.state()).toMatchObject({ record: { state: 'active', epoch: 2 } });
  });

  it('accepts no event from any writer after the fence, even if a restart prepares its streams, until the handover is cancelled', async () => {
    const before = await logOf(source);
    await exportInstallation(
      source.installation,
      { target: await prepareTarget(target.installation), file: file() },
      fresh(),
    );
    expect(await takesEvents(source)).toBe(false);
    await ensureStreams(source.admin);
    expect(await takesEvents(source)).toBe(false);
    expect(await logOf(source)).toEqual(before);
    expect(await cancelHandover(source.installation)).toEqual({ changed: true });
    expect(await takesEvents(source)).toBe(true);
  });

  it('is never opened again after its release, before which the code is secret', async () => {
    const key = await prepareTarget(target.installation);
    const exported = await exportInstallation(source.installation, { target: key, file: file() }, fresh());
    const { receipt } = await importInstallation(target.installation, { file: file(), source: exported.source });
    await expect(activateTarget(target.installation, receipt)).rejects.toThrow('not the code');
    await expect(releaseSource(source.installation, 'another')).rejects.toThrow('not the receipt');
    const { code } = await releaseSource(source.installation, receipt);
    await expect(cancelHandover(source.installation)).rejects.toThrow('was released');
    await expect(source.installation.open(undefined)).rejects.toThrow('is sealed');
    const { streams } = await jetstreamManager(source.admin);
    const unsealed = { sealed: false, max_msg_size: 1_000_000 } as object;
    await expect(streams.update(STREAMS.events, unsealed)).rejects.toThrow('can not unseal');
    await ensureStreams(source.admin);
    expect(await holders()).toEqual([false, false]);
    expect(await releaseSource(source.installation, receipt)).toEqual({ code });
    await activateTarget(target.installation, code);
    await activateTarget(target.installation, code);
    expect(await holders()).toEqual([false, true]);
  });

  it('cannot be activated from an import before a cancellation', async () => {
    const key = await prepareTarget(target.installation);
    const first = fresh();
    const exported = await exportInstallation(source.installation, { target: key, file: file() }, first);
    await importInstallation(target.installation, { file: file(), source: exported.source });
    await cancelHandover(source.installation);
    await stateFacts(source, 1);
    const again = fresh();
    const other = await exportInstallation(source.installation, { target: key, file: file() }, again);
    await expect(activateTarget(target.installation, again.code)).rejects.toThrow('not the code');
    await expect(importInstallation(target.installation, { file: file(), source: other.source })).rejects.toThrow(
      'is imported',
    );
    expect(await holders()).toEqual([false, false]);
  });

  it('is imported only if the file is complete, unchanged, for this installation, and the installation is empty', async () => {
    const { source: signer } = await exportInstallation(
      source.installation,
      { target: await prepareTarget(target.installation), file: file() },
      fresh(),
    );
    const whole = gunzipSync(await readFile(file()));
    const text = whole.toString('utf8');
    expect(text).not.toContain('a kubeconfig');
    const damaged: readonly (readonly [Buffer, string])[] = [
      [whole.subarray(0, whole.length - 200), 'whole line'],
      [Buffer.from(text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)), 'its end is missing'],
      [Buffer.from(text.replace('["events","evt.', '["events","$JS.')), 'no subject of events'],
      [Buffer.from(text.replace('"epoch":1', '"epoch":7')), 'does not match the digest'],
      [Buffer.from(`${text}{}\n`), 'lines follow its end'],
      [Buffer.from(text.replace(/"signature":".{4}/, '"signature":"AAAA')), 'its signature is not that of the key'],
    ];
    for (const [bytes, words] of damaged) {
      const other = join(folder, 'damaged');
      await writeFile(other, gzipSync(bytes));
      await expect(importInstallation(target.installation, { file: other, source: signer })).rejects.toThrow(words);
    }
    target.installation.forgetSeed();
    await expect(importInstallation(target.installation, { file: file(), source: signer })).rejects.toThrow(
      'is not this installation',
    );
    await stateFacts(target, 1);
    await expect(importInstallation(target.installation, { file: file(), source: signer })).rejects.toThrow(
      'has 1 events',
    );
    await expect(prepareTarget(target.installation)).rejects.toThrow('has 1 events');
  });

  it('is imported only if the file is signed with the key that the export printed, whoever else can write a file for this target', async () => {
    const key = await prepareTarget(target.installation);
    const { source: signer } = await exportInstallation(source.installation, { target: key, file: file() }, fresh());
    const genuine = gunzipSync(await readFile(file()))
      .toString('utf8')
      .split('\n');
    const header = Header.parse(JSON.parse(genuine[0] ?? ''));
    const forger = createUser();
    const seed = Buffer.from(forger.getSeed()).toString('utf8');
    const event = {
      subject: 'evt.1.default.demo.request.ClusterDeletionRequested',
      headers: {},
      data: Buffer.from('{}'),
    };
    const forged = async (claims: string): Promise<string> => {
      const path = join(folder, 'forged');
      const content = async function* (): Content {
        yield ['events', event];
      };
      await writeHandover(path, { header: { ...header, source: claims, events: 1 }, content: content(), seed });
      return path;
    };
    const importing = async (claims: string): Promise<unknown> =>
      importInstallation(target.installation, { file: await forged(claims), source: signer });
    await expect(importing(forger.getPublicKey())).rejects.toThrow(
      `is signed by ${forger.getPublicKey()}, not by ${signer}`,
    );
    await expect(importing(signer)).rejects.toThrow('its signature is not that of the key that it names');
    expect((await target.installation.state()).messages).toBe(0);
    // Each export of a handover is signed with the same key, also after an interruption.
    expect((await exportInstallation(source.installation, { target: key, file: file() }, fresh())).source).toBe(signer);
    await importInstallation(target.installation, { file: file(), source: signer });
  });

  it('can be handed over again by its new owner, with the next epoch, and a cancellation changes nothing', async () => {
    await handOver(both(), fresh());
    const was = (await target.installation.state()).record;
    await emptied(source);
    const key = await prepareTarget(source.installation);
    await exportInstallation(target.installation, { target: key, file: file() }, fresh());
    await cancelHandover(target.installation);
    expect((await target.installation.state()).record).toEqual(was);
    await handOver({ from: target.installation, to: source.installation }, fresh());
    expect(await source.installation.state()).toMatchObject({ record: { state: 'active', epoch: 3 } });
    expect(await holders()).toEqual([true, false]);
  });
});

/** The number of calls in a complete handover, per side. */
const CALLS_MAX = 60;

describe.each([
  ['source', 'before'],
  ['source', 'after'],
  ['target', 'before'],
  ['target', 'after'],
] as const)('a handover with a kill of the process for the %s %s any of its calls', (side, when) => {
  it('never has two owners, and ends with exactly one: cancelled if it was not released, otherwise completed [ORBITER 30, Cluster API 32]', async () => {
    let completed = false;
    for (let calls = 0; calls < CALLS_MAX && !completed; calls += 1) {
      await Promise.all([emptied(source), emptied(target)]);
      await stateFacts(source, 3);
      const { from, to } = both();
      const sides =
        side === 'source'
          ? { from: crashingAfter(calls, when, from), to }
          : { from, to: crashingAfter(calls, when, to) };
      completed = await handOver(sides, fresh()).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Crash) return false;
          throw error;
        },
      );
      const [atSource, atTarget] = await holders();
      expect(atSource && atTarget).toBe(false);
      const isReleased = (await from.state()).sealed;
      expect(atTarget === true && !isReleased).toBe(false);
      if (!isReleased && calls % 2 === 0) {
        await cancelHandover(from);
        expect(await holders()).toEqual([true, false]);
        continue;
      }
      if (isReleased) await expect(cancelHandover(from)).rejects.toThrow('was released');
      if (atTarget !== true) {
        // The operator runs the same commands again.
        await resume(both());
      }
      expect(await holders()).toEqual([false, true]);
    }
    expect(completed).toBe(true);
  }, 300_000);
});

const resume = async ({ from, to }: Sides): Promise<void> => {
  const { record } = await from.state();
  if (record?.state !== 'released') return handOver({ from, to }, fresh());
  const { code } = await releaseSource(from, '');
  await activateTarget(to, code);
};
