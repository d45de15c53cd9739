import { REVOKER, SERVICES } from '@fairlead/contracts';
import {
  mintReloader,
  newAuthority,
  openDataFolder,
  prepareDataFolder,
  readAuthorities,
  readIfAny,
  rotateCredentials,
  serverNames,
  takeLock,
  writeAuthorities,
  writeDurably,
  type Authorities,
} from '@fairlead/embedded';
import {
  authenticatorOf,
  KEY_CACHED_MS,
  masterKeysText,
  natsTrust,
  newMasterKey,
  parseMasterKeys,
  natsServers,
} from '@fairlead/embedded/credentials';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliFailure, wordsOf } from '../failures.js';
import {
  connectAsAdministrator,
  natsOfInstance,
  notProvisioned,
  type NatsSettings,
} from '../instance/administrator.effects.js';
import { handOut } from '../provision/holders.store.js';
import { rotateAuthority, type AuthorityRotated, type AuthorityWorld } from './authority.rotation.effects.js';
import { rotateMaster, type Rotated, type RotationWorld } from './master.rotation.effects.js';
import { exportOwnerKeys, natsOwnerKeys, natsSealedSecrets } from '../instance/owner.keys.store.js';
import { rotateDataKeys } from './data.rotation.effects.js';

export interface MasterRotationSettings extends NatsSettings {
  /** Contains the copies for services, if it exists. */
  readonly secretsDir: string;
}

/** A service's write to NATS ends within 5 s, with or without a response. */
const SETTLE_MS = 10_000;

export interface AllRotated extends Rotated {
  /** Number of secrets that were resealed with new keys of their owners. */
  readonly secrets: number;
}

/**
 * Rotates the master key of a data folder, and then the keys that it seals with all that these seal. Throws a
 * `CliFailure`; a repeated call continues.
 */
export const rotateMasterIn = async (settings: MasterRotationSettings, settleMs = SETTLE_MS): Promise<AllRotated> => {
  const { dataDir, secretsDir } = settings;
  const file = join(dataDir, 'keys', 'master.key');
  if (!existsSync(file)) throw notProvisioned(file);
  prepareDataFolder(dataDir);
  // Not the lock of the folder: a running instance holds that one.
  const lock = takeLock(join(dataDir, 'keys', 'rotation.lock'));
  if (lock.status === 'held') throw underWay(lock.holder.pid);
  try {
    const nc = await connectAsAdministrator(settings);
    try {
      const world: RotationWorld = {
        ownerKeys: await natsOwnerKeys(nc),
        readMasterKeys: () => parseMasterKeys(readIfAny(file) ?? ''),
        writeMasterKeys: (keys) => writeDurably(file, masterKeysText(keys)),
        handOut: () => (existsSync(secretsDir) ? handOut({ dataDir, secretsDir }, SERVICES) : undefined),
        settle: () => sleep(settleMs),
      };
      const rotated = await rotateMaster(world, newMasterKey());
      const secrets = await rotateDataKeys({
        ...{ ownerKeys: world.ownerKeys, secrets: await natsSealedSecrets(nc), readMasterKeys: world.readMasterKeys },
        forgotten: () => sleep(KEY_CACHED_MS + settleMs),
      });
      return { ...rotated, secrets };
    } finally {
      await nc.close();
    }
  } finally {
    lock.release();
  }
};

/**
 * Exports the sealed keys of secrets to a file; keys that services create at the same time may be missing. Throws a
 * `CliFailure`.
 */
export const exportOwnerKeysOf = async (settings: NatsSettings, file: string): Promise<number> => {
  const nc = await connectAsAdministrator(settings);
  try {
    return await exportOwnerKeys(nc, file);
  } finally {
    await nc.close();
  }
};

/**
 * Rotates the keys of NATS in a data folder without a running instance. Throws an `EnvironmentFault` or a `CliFailure`.
 */
export const rotateNatsIn = ({
  dataDir,
  agentsForMs,
}: {
  readonly dataDir: string;
  readonly agentsForMs: number;
}): void => {
  const seeds = join(dataDir, 'keys', 'nats-operator.json');
  if (!existsSync(seeds)) throw notProvisioned(seeds);
  const folder = openDataFolder(dataDir);
  try {
    rotateCredentials(dataDir, { now: new Date(), nodesForMs: agentsForMs });
    // The next start creates it with another key.
    rmSync(join(dataDir, 'keys', 'nats-server.pem'), { force: true });
  } finally {
    folder.release();
  }
};

/** Without folders for the services, the only copy is in the data folder. */
const HOLDERS_OF_AUTHORITY = [...SERVICES, REVOKER, 'nats'] as const;
const SHOWN_WITHIN_MS = 30_000;
const RELOAD_POLL_MS = 500;

export interface AuthorityRotationSettings extends MasterRotationSettings {
  readonly agentsForMs: number;
  /** The timeout for NATS to present its new certificate. */
  readonly shownWithinMs?: number;
}

/** Executes the next step in the rotation of NATS' authority, while everything runs. Throws a `CliFailure`. */
export const rotateAuthorityIn = async (
  settings: AuthorityRotationSettings,
  now: () => Date = () => new Date(),
): Promise<AuthorityRotated> => {
  const { dataDir, secretsDir, agentsForMs, shownWithinMs = SHOWN_WITHIN_MS } = settings;
  const authoritiesIn = (): Authorities => readAuthorities(dataDir) ?? withoutCertificate(dataDir);
  authoritiesIn();
  const url = settings.nats ?? natsOfInstance(dataDir);
  const names = serverNames(dataDir);
  const lock = takeLock(join(dataDir, 'keys', 'rotation.lock'));
  if (lock.status === 'held') throw underWay(lock.holder.pid);
  try {
    const world: AuthorityWorld = {
      readAuthorities: authoritiesIn,
      writeAuthorities: async (authorities) => {
        await writeAuthorities(dataDir, authorities, { names, now: now() });
      },
      handOut: () => (existsSync(secretsDir) ? handOut({ dataDir, secretsDir }, HOLDERS_OF_AUTHORITY) : undefined),
      reloadServer: async (current) => {
        for (const server of natsServers(url)) await untilServerShows({ dataDir, url: server, current, shownWithinMs });
      },
      now,
    };
    return await rotateAuthority(world, { made: await newAuthority(now()), agentsForMs });
  } finally {
    lock.release();
  }
};

interface Shown {
  readonly dataDir: string;
  readonly url: string;
  /** PEM: the authority of the certificate that the server must present. */
  readonly current: string;
  readonly shownWithinMs: number;
}

const untilServerShows = async ({ dataDir, url, current, shownWithinMs }: Shown): Promise<void> => {
  const deadline = performance.now() + shownWithinMs;
  for (;;) {
    try {
      await askToReload({ dataDir, url });
      await (await connectWith(dataDir, url, () => current)).close();
      return;
    } catch (error) {
      if (performance.now() < deadline) {
        await sleep(RELOAD_POLL_MS);
        continue;
      }
      throw new CliFailure('unreachable', {
        code: 'cli.nats-certificate-unchanged',
        message: `NATS at ${url} does not show the new certificate: ${wordsOf(error)}`,
        help: 'Both authorities are trusted until it does. Restart NATS, and run this command again.',
        cause: error,
      });
    }
  }
};

/** With a credential that expires within a minute: no other one may reload the server. */
const askToReload = async ({ dataDir, url }: Pick<Shown, 'dataDir' | 'url'>): Promise<void> => {
  const nc = await connectWith(dataDir, url, () => readIfAny(join(dataDir, 'keys', 'nats-ca.pem')) ?? '');
  try {
    await nc.request(`$SYS.REQ.SERVER.${nc.info?.server_id ?? ''}.RELOAD`, '', { timeout: RELOAD_POLL_MS * 10 });
  } finally {
    await nc.close();
  }
};

const connectWith = (dataDir: string, url: string, authority: () => string): Promise<NatsConnection> =>
  connect({
    servers: url,
    name: 'fairlead-keys',
    reconnect: false,
    authenticator: authenticatorOf(mintReloader(dataDir)),
    ...natsTrust(authority, [url]),
  });

const withoutCertificate = (dataDir: string): never => {
  throw new CliFailure('not-found', {
    code: 'cli.nats-without-certificate',
    message: `NATS of ${dataDir} has no certificate of its own`,
    help: 'An instance whose NATS is reached on loopback only has none. Name the data folder of an installation that uses TLS.',
  });
};

const underWay = (pid: number): CliFailure =>
  new CliFailure('conflict', {
    code: 'cli.rotation-under-way',
    message: `Process ${pid} rotates keys of this data folder already`,
    help: 'Wait until it has ended.',
  });
