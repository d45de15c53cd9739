import {
  certificateIn,
  natsTrustIn,
  newAuthority,
  readAuthorities,
  serverNames,
  writeAuthorities,
} from '@fairlead/embedded';
import { natsTrust } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { handOut } from '../provision/holders.store.js';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { rotateAuthority, type AuthorityWorld } from './authority.rotation.effects.js';
import { nextAuthorityStep } from './authority.rotation.planner.js';
import { rotateAuthorityIn } from './rotate.effects.js';

const ADDRESS = '127.0.0.17';
const FOREVER = { maxReconnectAttempts: -1, reconnectTimeWait: 50 };

describe("a rotation of the authority of NATS' certificate", () => {
  let environment: TestEnvironment;
  let secretsDir: string;
  let bundle: string;

  beforeEach(async () => {
    environment = await testEnvironment({ natsHost: ADDRESS });
    secretsDir = join(environment.dataDir, 'secrets');
    mkdirSync(secretsDir);
    bundle = join(environment.dataDir, 'keys', 'nats-ca.pem');
  }, 60_000);
  afterEach(async () => {
    await environment?.stop();
  }, 30_000);

  const rotate = (...more: string[]) =>
    run(
      ['keys', 'rotate', 'nats-authority', '--data', environment.dataDir, '--nats', environment.nats.url, ...more],
      fakeIo({ cwd: environment.dataDir }),
    );
  const certificates = (file: string): readonly string[] =>
    readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? [];
  const reach = async (authority: string): Promise<void> => {
    const { url } = environment.nats;
    const options = { reconnect: false, ...natsTrust(() => authority, [url]) };
    const connection = await environment.connect('admin', options);
    await connection.close();
  };
  const statusesOf = (nc: NatsConnection): readonly string[] => {
    const types: string[] = [];
    const follow = async (): Promise<void> => {
      for await (const { type } of nc.status()) if (['disconnect', 'reconnect'].includes(type)) types.push(type);
    };
    void follow();
    return types;
  };
  const untilLast = async (statuses: readonly string[], type: string): Promise<void> => {
    const endMs = performance.now() + 30_000;
    while (statuses.at(-1) !== type && performance.now() < endMs) await sleep(20);
    expect(statuses.at(-1)).toBe(type);
  };

  it('first trusts both authorities, then presents the new certificate without closing connections, and then stops trusting the former authority', async () => {
    const [former = ''] = certificates(bundle);
    const service = await environment.connect('gateway', FOREVER);
    const statuses = statusesOf(service);

    expect(await rotate()).toMatchObject({ code: 0, stderr: expect.stringContaining('run this command again after') });
    const [first, added = ''] = certificates(bundle);
    expect(first).toBe(former);
    await reach(former);
    await expect(reach(added)).rejects.toThrow(/certificate|signature/i);

    expect(await rotate()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('still getting the new authority'),
    });
    expect(certificates(bundle)).toEqual([former, added]);

    const { code, stderr } = await rotate('--agents-for', '0s');
    expect([code, stderr]).toEqual([0, expect.stringContaining('no longer trusted')]);
    expect(certificates(bundle)).toEqual([added]);
    expect(certificates(join(secretsDir, 'upgrade-svc', 'nats-ca.pem'))).toEqual([added]);
    expect(certificates(join(secretsDir, 'nats', 'nats-server.pem'))).toHaveLength(1);
    await reach(added);
    await expect(reach(former)).rejects.toThrow(/certificate|signature/i);
    await service.flush();
    expect(statuses).toEqual([]);

    await environment.killNats();
    await untilLast(statuses, 'disconnect');
    await environment.startNats();
    await untilLast(statuses, 'reconnect');
    await service.flush();
  }, 120_000);

  it('continues after a crash before each effect, while a client can connect to NATS with the distributed files', async () => {
    const { dataDir, nats } = environment;
    const names = serverNames(dataDir);
    expect(names).toEqual([ADDRESS]);
    const settings = { dataDir, secretsDir, nats: nats.url, natsCa: undefined, agentsForMs: 0 };
    const handedOut = (): string => readFileSync(join(secretsDir, 'gateway', 'nats-ca.pem'), 'utf8');
    await rotateAuthorityIn(settings);
    let crashes = 0;
    for (let survived = 0; ; survived += 1) {
      const before = certificates(bundle);
      let left = survived;
      const mortal =
        <Arguments extends unknown[], Result>(effect: (...given: Arguments) => Result) =>
        (...given: Arguments): Result => {
          if (left === 0) throw new Error('crash');
          left -= 1;
          return effect(...given);
        };
      const world: AuthorityWorld = {
        readAuthorities: () => readAuthorities(dataDir) ?? never(),
        writeAuthorities: mortal(async (authorities) => {
          await writeAuthorities(dataDir, authorities, { names, now: new Date() });
        }),
        handOut: mortal(() => handOut({ dataDir, secretsDir }, ['gateway', 'nats'])),
        // A server that was not reloaded presents the former certificate.
        reloadServer: () => Promise.reject(new Error('crash')),
        now: () => new Date(),
      };
      const made = await newAuthority(new Date());
      const outcome = await rotateAuthority(world, { made, agentsForMs: 0 }).catch((error: unknown) => error);
      expect(outcome).toMatchObject({ message: 'crash' });
      await reach(handedOut());
      await rotateAuthorityIn(settings);
      await reach(handedOut());
      expect(certificates(bundle)).toHaveLength(1);
      expect(certificates(bundle)).not.toEqual(before);
      crashes += 1;
      if (left > 0) break;
    }
    expect(crashes).toBeGreaterThan(5);
  }, 180_000);

  it('keeps trusting both if NATS does not present the new certificate', async () => {
    const { dataDir, nats } = environment;
    const at = { names: serverNames(dataDir), now: new Date() };
    const certificateOf = certificateIn;
    const made = await newAuthority(at.now);
    for (const kind of ['announce', 'switch']) {
      const known = readAuthorities(dataDir) ?? never();
      const step = nextAuthorityStep(known, { now: at.now, agentsForMs: 0 }, { made, certificateOf });
      expect(step.kind).toBe(kind);
      if ('authorities' in step) await writeAuthorities(dataDir, step.authorities, at);
    }
    await environment.killNats();
    const settings = { dataDir, secretsDir, nats: nats.url, natsCa: undefined, agentsForMs: 0, shownWithinMs: 1_000 };
    await expect(rotateAuthorityIn(settings)).rejects.toMatchObject({
      ...{ exit: 'unreachable', code: 'cli.nats-certificate-unchanged' },
      message: expect.stringContaining('does not show the new certificate'),
    });
    expect(certificates(bundle)).toHaveLength(2);
    await environment.startNats();
    expect(await rotate()).toMatchObject({ code: 0 });
    expect(certificates(bundle)).toHaveLength(1);
    const { url } = environment.nats;
    await (await environment.connect('admin', natsTrustIn(bundle, [url]))).close();
  }, 120_000);
});

const never = (): never => {
  throw new Error('it is there');
};
