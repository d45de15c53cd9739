import { errorCodeOf, EVERY_NAMESPACE, type Fact, NONE, type RoleGrant } from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, ConfigurationError, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SETTINGS, type Settings } from '../config.js';
import { audit } from '../events/audit.decider.js';
import { hashOf, idOf, newToken } from '@fairlead/embedded/credentials';
import { TokenStore } from './tokens.store.js';

const LOCAL_ADMIN: RoleGrant[] = [{ namespace: EVERY_NAMESPACE, role: 'admin' }];
const OWNER_ONLY = 0o600;
/** A Secret of Kubernetes is mounted so. */
const UNWRITABLE: readonly string[] = ['EROFS', 'EACCES'];

const readToken = async (file: string): Promise<string | undefined> => {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};

/** Puts a new token into the file unless another replica was first; whole or not at all. */
const createFile = async (file: string): Promise<void> => {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${newToken().token}\n`, { mode: OWNER_ONLY, flag: 'wx' });
  try {
    await link(draft, file);
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
};

/** Puts a new token in the place of the old one, whole or not at all. */
const replaceFile = async (file: string): Promise<void> => {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${newToken().token}\n`, { mode: OWNER_ONLY, flag: 'wx' });
  await rename(draft, file);
};

/**
 * The administrator's token of a local instance: made at the first start, readable by the owner of the data folder alone. A
 * token in the file that the database does not know is let in, and one that was revoked is replaced at the next start: whoever can
 * write the file owns the instance.
 */
@Injectable()
export class LocalToken implements OnApplicationBootstrap {
  private readonly log = new Logger('tokens');

  constructor(
    @Inject(SETTINGS) private readonly config: Settings,
    @Inject(TokenStore) private readonly store: TokenStore,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { localTokenFile } = this.config;
    if (localTokenFile !== undefined) await this.ensure(localTokenFile);
  }

  /** One replica at a time, so that the token in the file is the one that is known. */
  private ensure(file: string): Promise<void> {
    return this.store.alone(async () => {
      const text = await readToken(file);
      if (text === '') await unlink(file); // A full disk or a crash took it.
      if (text === undefined || text === '') await createFile(file);
      const standing = await this.admit(file);
      if (standing === 'good') return;
      await this.replace(file);
      await this.admit(file);
      this.log.warn(`the local administrator token was revoked or has ended; a new one is in ${file}`);
    });
  }

  private async replace(file: string): Promise<void> {
    try {
      await replaceFile(file);
    } catch (error) {
      if (!UNWRITABLE.includes(errorCodeOf(error) ?? '')) throw error;
      throw new ConfigurationError([
        `FAIRLEAD_LOCAL_TOKEN_FILE: the token in ${file} was revoked or has ended, and the file cannot be replaced (${errorCodeOf(error)}); put a new token there, or unset the variable`,
      ]);
    }
  }

  private async admit(file: string): Promise<'good' | 'revoked'> {
    const token = (await readToken(file)) ?? '';
    const id = idOf(token);
    if (id === undefined)
      throw new ConfigurationError([
        `FAIRLEAD_LOCAL_TOKEN_FILE: ${file} holds no Fairlead token; remove it, and a new one is made at the next start`,
      ]);
    if ((await this.store.identify(token, this.clock.now())).kind === 'known') return 'good';
    if (await this.store.isKnown(id)) return 'revoked';
    // On record before it opens anything.
    await this.putOnRecord(id);
    await this.store.insert({
      id,
      name: 'local',
      sha256: hashOf(token),
      roles: LOCAL_ADMIN,
      createdAt: this.clock.now(),
    });
    this.log.log(`the local administrator token is in ${file}`);
    return 'good';
  }

  private async putOnRecord(id: string): Promise<void> {
    const fact: Fact<'ApiTokenCreated'> = { type: 'ApiTokenCreated', data: { id, name: 'local', roles: LOCAL_ADMIN } };
    const cause = { actor: 'system/gateway', correlationId: `local-token-${id}`, causationId: `local-token-${id}` };
    await this.handle(
      audit,
      { namespace: NONE, cluster: NONE, context: 'audit' },
      { type: 'Record', data: fact },
      cause,
    );
  }
}
