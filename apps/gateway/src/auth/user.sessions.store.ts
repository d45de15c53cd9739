import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { KEPT_MAX, SESSION_MS, type Issued } from './sessions.store.js';
import { idOf, newSecret, opens } from '@fairlead/embedded/credentials';
import type { Granted } from './issuer.client.js';
import type { User } from './user.rules.js';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A session of the page that a user began at the identity provider. */
export interface UserSession {
  readonly id: string;
  readonly user: User;
  /** When the issuer was last asked about the user. */
  readonly checkedAt: Date;
  /** What the issuer said is good until then. */
  readonly tokenExpiresAt: Date;
  /** When the session ends, whatever the issuer says. */
  readonly expiresAt: Date;
  readonly refreshToken: string | undefined;
}

interface Row {
  readonly id: string;
  readonly sha256: Buffer;
  readonly claims: User;
  readonly sealed: Buffer | null;
  readonly checked_at: Date;
  readonly token_expires_at: Date;
  readonly expires_at: Date;
}

/** The browser alone has the text of its session, so the database alone opens no refresh token. */
const keyOf = (session: string): Buffer => createHash('sha256').update(`refresh token of ${session}`).digest();

const seal = (session: string, refreshToken: string | undefined): Buffer | null => {
  if (refreshToken === undefined) return null;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(session), iv);
  const text = Buffer.concat([cipher.update(refreshToken, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]);
};

const unseal = (session: string, sealed: Buffer | null): string | undefined => {
  if (sealed === null) return undefined;
  const decipher = createDecipheriv(CIPHER, keyOf(session), sealed.subarray(0, IV_BYTES));
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
};

/** Sessions of users: the hash of each, who it is of, and the refresh token, which only the session opens. */
@Injectable()
export class UserSessionsStore {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** One that ends after 12 hours at the latest; the oldest of too many gives way. */
  async begin(userId: string, { user, expiresAt: tokenEnd, refreshToken }: Granted, now: Date): Promise<Issued> {
    const { id, token, sha256 } = newSecret('user');
    const latest = new Date(now.getTime() + SESSION_MS);
    const expiresAt = refreshToken === undefined && tokenEnd < latest ? tokenEnd : latest;
    await this.database.query('delete from user_sessions where expires_at <= $1', [now]);
    await this.database.query(
      `insert into user_sessions (id, sha256, user_id, claims, sealed, created_at, checked_at, token_expires_at, expires_at)
       values ($1, $2, $3, $4::jsonb, $5, $6, $6, $7, $8)`,
      [id, sha256, userId, JSON.stringify(user), seal(token, refreshToken), now, tokenEnd, expiresAt],
    );
    await this.database.query(
      `delete from user_sessions where id in
         (select id from user_sessions where user_id = $1 order by created_at desc, id offset ${KEPT_MAX.session})`,
      [userId],
    );
    return { token, expiresAt };
  }

  async find(session: string, now: Date): Promise<UserSession | undefined> {
    const id = idOf(session, 'user');
    const [row] =
      id === undefined ? [] : await this.database.query<Row[]>('select * from user_sessions where id = $1', [id]);
    if (row === undefined || !opens(session, row.sha256) || row.expires_at <= now) return undefined;
    return {
      id: row.id,
      user: row.claims,
      checkedAt: row.checked_at,
      tokenExpiresAt: row.token_expires_at,
      expiresAt: row.expires_at,
      refreshToken: unseal(session, row.sealed),
    };
  }

  /** True for one of all who want to ask the issuer about the session at the same time. */
  async claimCheck({ id, checkedAt }: Pick<UserSession, 'id' | 'checkedAt'>, now: Date): Promise<boolean> {
    const claimed = await this.database.query<[unknown[], number]>(
      'update user_sessions set checked_at = $3 where id = $1 and checked_at = $2 returning id',
      [id, checkedAt, now],
    );
    return claimed[1] > 0;
  }

  /** What the issuer said about the user of the session. */
  async checked(session: string, { user, expiresAt, refreshToken }: Granted): Promise<void> {
    await this.database.query(
      `update user_sessions set claims = $2::jsonb, token_expires_at = $3, sealed = coalesce($4, sealed) where id = $1`,
      [idOf(session, 'user'), JSON.stringify(user), expiresAt, seal(session, refreshToken)],
    );
  }

  async end(id: string): Promise<void> {
    await this.database.query('delete from user_sessions where id = $1', [id]);
  }

  /** Those of the names that are namespaces. */
  async namespacesAmong(names: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ readonly key: string }[]>(
      'select key from namespaces where key = any($1)',
      [names],
    );
    return new Set(rows.map(({ key }) => key));
  }
}
