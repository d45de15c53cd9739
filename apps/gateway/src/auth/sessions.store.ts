import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { idOf, newSecret, opens, type NewToken, type SecretKind } from '@fairlead/embedded/credentials';

const MINUTE_MS = 60_000;
/** A session ends after so long, whatever its token is still good for. */
export const SESSION_MS = 12 * 60 * MINUTE_MS;
/** Whoever prints a link opens it soon. */
export const CODE_MS = 10 * MINUTE_MS;
/** Of one token at once: the oldest give way. */
export const KEPT_MAX = { session: 50, code: 10 } as const;

const TABLES = { session: 'page_sessions', code: 'sign_in_codes' } as const satisfies Partial<
  Record<SecretKind, string>
>;
type Kept = keyof typeof TABLES;

interface Row {
  readonly token_id: string;
  readonly sha256: Buffer;
  readonly expires_at: Date;
}

/** A session or a code as it is handed out. */
export interface Issued extends Pick<NewToken, 'token'> {
  readonly expiresAt: Date;
}

/** What opens: the token that a session or a code stands for. */
export interface Opened {
  readonly id: string;
  readonly tokenId: string;
}

/** The hashes of sessions and one-time codes, never themselves. */
@Injectable()
export class SessionsStore {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** A code for a browser on this machine, good once. */
  issueCode(tokenId: string, now: Date): Promise<Issued> {
    return this.issue('code', tokenId, now, new Date(now.getTime() + CODE_MS));
  }

  /** A session that ends no later than its token. */
  begin(tokenId: string, now: Date, tokenEnd: Date | undefined): Promise<Issued> {
    const latest = new Date(now.getTime() + SESSION_MS);
    return this.issue('session', tokenId, now, tokenEnd !== undefined && tokenEnd < latest ? tokenEnd : latest);
  }

  /** The code is gone afterwards, whether it opened or not: of two that send it at once, one gets in. */
  async takeCode(code: string, now: Date): Promise<Opened | undefined> {
    const id = idOf(code, 'code');
    if (id === undefined) return undefined;
    const [rows] = await this.database.query<[Row[], number]>(
      'delete from sign_in_codes where id = $1 returning token_id, sha256, expires_at',
      [id],
    );
    return openedBy(code, id, rows[0], now);
  }

  async find(session: string, now: Date): Promise<Opened | undefined> {
    const id = idOf(session, 'session');
    if (id === undefined) return undefined;
    const [row] = await this.database.query<Row[]>(
      'select token_id, sha256, expires_at from page_sessions where id = $1',
      [id],
    );
    return openedBy(session, id, row, now);
  }

  async end(id: string): Promise<void> {
    await this.database.query('delete from page_sessions where id = $1', [id]);
  }

  private async issue(kind: Kept, tokenId: string, now: Date, expiresAt: Date): Promise<Issued> {
    const { id, token, sha256 } = newSecret(kind);
    const table = TABLES[kind];
    await this.database.query(`delete from ${table} where expires_at <= $1`, [now]);
    await this.database.query(
      `insert into ${table} (id, sha256, token_id, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
      [id, sha256, tokenId, now, expiresAt],
    );
    await this.database.query(
      `delete from ${table} where id in
         (select id from ${table} where token_id = $1 order by created_at desc, id offset ${KEPT_MAX[kind]})`,
      [tokenId],
    );
    return { token, expiresAt };
  }
}

const openedBy = (text: string, id: string, row: Row | undefined, now: Date): Opened | undefined =>
  row !== undefined && opens(text, row.sha256) && row.expires_at > now ? { id, tokenId: row.token_id } : undefined;
