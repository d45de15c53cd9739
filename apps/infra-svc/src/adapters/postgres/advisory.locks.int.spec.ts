import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { AdvisoryLocks } from './advisory.locks.js';

/** Something that ends when the spec says so. */
const gate = (): { readonly opened: Promise<void>; open(): void } => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
};

describe('a lock over replicas', () => {
  let environment: TestEnvironment;
  let one: AdvisoryLocks;
  let other: AdvisoryLocks;

  beforeAll(async () => {
    environment = await testEnvironment();
  }, 60_000);
  afterAll(() => environment?.stop());

  beforeEach(() => {
    one = new AdvisoryLocks(environment.databases['infra-svc']);
    other = new AdvisoryLocks(environment.databases['infra-svc']);
  });
  afterEach(async () => {
    await Promise.all([one.close(), other.close()]);
  });

  const holdUntil = (locks: AdvisoryLocks, name: string, until: Promise<void>) => {
    const begun = gate();
    const held = locks.hold(name, 0, async (signal) => {
      begun.open();
      await until;
      return signal.aborted;
    });
    return { begun: begun.opened, held };
  };

  it('has one holder: neither another replica nor another job of the same one gets it', async () => {
    const end = gate();
    const { begun, held } = holdUntil(one, 'a', end.opened);
    await begun;
    expect(await other.hold('a', 0, async () => 'mine')).toEqual({ kind: 'taken' });
    expect(await one.hold('a', 0, async () => 'mine')).toEqual({ kind: 'taken' });
    expect(await other.hold('b', 0, async () => 'mine')).toEqual({ kind: 'held', result: 'mine' });
    end.open();
    expect(await held).toEqual({ kind: 'held', result: false });
    expect(await other.hold('a', 0, async () => 'mine')).toEqual({ kind: 'held', result: 'mine' });
  });

  it('is waited for as long as the caller says', async () => {
    const end = gate();
    const { begun, held } = holdUntil(one, 'a', end.opened);
    await begun;
    const waiting = other.hold('a', 10_000, async () => 'mine');
    expect(await other.hold('a', 50, async () => 'mine')).toEqual({ kind: 'taken' });
    end.open();
    await held;
    expect(await waiting).toEqual({ kind: 'held', result: 'mine' });
  });

  it('is free again when the work of its holder fails', async () => {
    await expect(one.hold('a', 0, () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck');
    expect(await other.hold('a', 0, async () => 'mine')).toEqual({ kind: 'held', result: 'mine' });
  });

  it('is lost with the connection of its holder, who is told so, and can be taken by another', async () => {
    const end = gate();
    const begun = gate();
    const told = gate();
    const held = one.hold('a', 0, async (signal) => {
      signal.addEventListener('abort', () => told.open());
      begun.open();
      await end.opened;
      return signal.aborted;
    });
    await begun.opened;
    const admin = new pg.Client({ connectionString: environment.databaseAdminUrl });
    await admin.connect();
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'infra-svc-locks'",
    );
    await admin.end();
    await told.opened;
    expect(await other.hold('a', 5_000, async () => 'mine')).toEqual({ kind: 'held', result: 'mine' });
    end.open();
    expect(await held).toEqual({ kind: 'held', result: true });
    expect(await one.hold('a', 0, async () => 'again')).toEqual({ kind: 'held', result: 'again' });
  });
});
