import type { RoleGrant, TokenView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { isAdministrator, stands, type Grant, type Identity, type Standing } from '../access/identity.js';
import { idOf, opens } from '@fairlead/embedded/credentials';

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly sha256: Buffer;
  readonly roles: readonly Grant[];
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly namespaces: Readonly<Record<string, Standing>>;
}

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly sha256: Buffer;
  readonly roles: readonly Grant[];
  readonly createdAt: Date;
  /** Absent: it does not end by itself. */
  readonly expiresAt?: Date | undefined;
}

/** What a text opens. */
export type Identified =
  | { readonly kind: 'known'; readonly identity: Identity }
  | { readonly kind: 'expired'; readonly expiresAt: Date }
  | { readonly kind: 'unknown' };

const UNKNOWN: Identified = { kind: 'unknown' };

/** The roles of a token. */
export interface HeldRoles {
  readonly roles: readonly RoleGrant[];
  /** Some of them ended with their namespaces: the token is no business of those who have another of the name. */
  readonly ended: boolean;
}

export interface Revocation {
  readonly id: string;
  /** Id of the token that the request was sent with. */
  readonly inUse: string;
  /** Whether a token with these roles is the caller's to revoke. */
  readonly mayRevoke: (token: HeldRoles) => boolean;
  readonly at: Date;
}

export type RevokeOutcome = 'revoked' | 'unknown' | 'last-administrator' | 'in-use';
/** Any number that is no other advisory lock in the gateway's database. */
const LOCAL_TOKEN_LOCK = 0x4c4f434c;

/** Tokens that have ended are listed for so long, so that whoever misses one sees why. */
const ENDED_SHOWN_DAYS = 30;

/** With the namespaces of its roles as they are. */
const COLUMNS = `id, name, sha256, roles, created_at, expires_at, coalesce(
  (select jsonb_object_agg(key, jsonb_build_object('since', doc->'since', 'createdAt', doc->'createdAt')) from namespaces
    where key in (select granted->>'namespace' from jsonb_array_elements(roles) granted)), '{}'::jsonb) as namespaces`;

type Held = Pick<TokenRow, 'roles' | 'created_at' | 'namespaces'>;

const standingOf = ({ roles, created_at, namespaces }: Held): readonly Grant[] =>
  roles.filter((grant) => stands(grant, created_at, namespaces));

const heldOf = (row: Held): HeldRoles => ({
  roles: row.roles.map(({ namespace, role }) => ({ namespace, role })),
  ended: standingOf(row).length < row.roles.length,
});

const viewOf = (row: TokenRow): TokenView => ({
  id: row.id,
  kind: 'Token',
  name: row.name,
  roles: [...heldOf(row).roles],
  createdTime: row.created_at.toISOString(),
  ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
});

/** API tokens: their hashes, never themselves. */
@Injectable()
export class TokenStore {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** Who holds the token at that time; a revoked one is unknown. */
  async identify(token: string, now: Date): Promise<Identified> {
    const id = idOf(token);
    const row = id === undefined ? undefined : await this.valid(id);
    return row === undefined || !opens(token, row.sha256) ? UNKNOWN : identified(row, now);
  }

  /** The same of a session that began with the token of this id. */
  async holder(id: string, now: Date): Promise<Identified> {
    const row = await this.valid(id);
    return row === undefined ? UNKNOWN : identified(row, now);
  }

  private async valid(id: string): Promise<TokenRow | undefined> {
    const [row] = await this.database.query<TokenRow[]>(
      `select ${COLUMNS} from api_tokens where id = $1 and revoked_at is null`,
      [id],
    );
    return row;
  }

  /** Also one that was revoked. */
  async isKnown(id: string): Promise<boolean> {
    const found = await this.database.query<unknown[]>('select 1 from api_tokens where id = $1', [id]);
    return found.length > 0;
  }

  /** Of all replicas, one at a time does such work. */
  alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (manager) => {
      await manager.query('select pg_advisory_xact_lock($1)', [LOCAL_TOKEN_LOCK]);
      return work();
    });
  }

  /** Those that open something or ended in the last 30 days, and of which `isShown`. */
  async all(isShown: (token: HeldRoles) => boolean, now: Date): Promise<TokenView[]> {
    const rows = await this.database.query<TokenRow[]>(
      `select ${COLUMNS} from api_tokens
        where revoked_at is null and (expires_at is null or expires_at > $1::timestamptz - interval '${ENDED_SHOWN_DAYS} days')
        order by created_at, id`,
      [now],
    );
    return rows.filter((row) => isShown(heldOf(row))).map(viewOf);
  }

  /** True when it was not there before. */
  async insert({ id, name, sha256, roles, createdAt, expiresAt }: TokenRecord): Promise<boolean> {
    const inserted = await this.database.query<unknown[]>(
      `insert into api_tokens (id, name, sha256, roles, created_at, expires_at) values ($1, $2, $3, $4::jsonb, $5, $6)
       on conflict (id) do nothing returning id`,
      [id, name, sha256, JSON.stringify(roles), createdAt, expiresAt ?? null],
    );
    return inserted.length > 0;
  }

  /** Of a token that is there already, only the secret is replaced. False: it was revoked. */
  async insertOrReplace(record: TokenRecord): Promise<boolean> {
    if (await this.insert(record)) return true;
    const replaced = await this.database.query<[unknown[], number]>(
      'update api_tokens set sha256 = $2 where id = $1 and revoked_at is null returning id',
      [record.id, record.sha256],
    );
    return replaced[1] > 0;
  }

  /** It was revoked, as the log says. */
  async close(id: string, at: Date): Promise<void> {
    await this.database.query('update api_tokens set revoked_at = $2 where id = $1 and revoked_at is null', [id, at]);
  }

  /** Revoking twice is revoking once. Administrators that revoke each other at once take turns, so that one is left. */
  async revoke({ id, inUse, mayRevoke, at }: Revocation): Promise<RevokeOutcome> {
    return this.database.transaction(async (transaction) => {
      const administrators = await administratorsLocked(transaction);
      const [row] = await transaction.query<TokenRow[]>(`select ${COLUMNS} from api_tokens where id = $1`, [id]);
      if (row === undefined || !mayRevoke(heldOf(row))) return 'unknown';
      if (administrators.length === 1 && administrators[0] === id) return 'last-administrator';
      if (id === inUse) return 'in-use';
      await transaction.query('update api_tokens set revoked_at = $2 where id = $1 and revoked_at is null', [id, at]);
      return 'revoked';
    });
  }
}

const identified = (row: TokenRow, now: Date): Identified => {
  const { expires_at: expiresAt } = row;
  if (expiresAt !== null && expiresAt <= now) return { kind: 'expired', expiresAt };
  const identity = { tokenId: row.id, actor: `user/${row.name}#${row.id}`, roles: standingOf(row) };
  return { kind: 'known', identity: expiresAt === null ? identity : { ...identity, expiresAt } };
};

/** Every token that opens everything and does not end by itself, locked until the end of the transaction. */
const administratorsLocked = async (transaction: EntityManager): Promise<readonly string[]> => {
  const open = await transaction.query<Pick<TokenRow, 'id' | 'roles'>[]>(
    'select id, roles from api_tokens where revoked_at is null and expires_at is null order by id for update',
  );
  return open.filter(({ roles }) => isAdministrator(roles)).map(({ id }) => id);
};
