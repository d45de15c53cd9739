import type { RoleGrant, TokenView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Identity } from './identity.js';
import { idOf, opens } from './tokens.js';

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly sha256: Buffer;
  readonly roles: readonly RoleGrant[];
  readonly created_at: Date;
}

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly sha256: Buffer;
  readonly roles: readonly RoleGrant[];
  readonly createdAt: Date;
}

const COLUMNS = 'id, name, sha256, roles, created_at';

const viewOf = ({ id, name, roles, created_at }: TokenRow): TokenView => ({
  id,
  kind: 'Token',
  name,
  roles: [...roles],
  createdTime: created_at.toISOString(),
});

/** API tokens: their hashes, never themselves. */
@Injectable()
export class TokenStore {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** Who holds the token; undefined when it is not known or was revoked. */
  async identify(token: string): Promise<Identity | undefined> {
    const id = idOf(token);
    if (id === undefined) return undefined;
    const [row] = await this.database.query<TokenRow[]>(
      `select ${COLUMNS} from api_tokens where id = $1 and revoked_at is null`,
      [id],
    );
    if (row === undefined || !opens(token, row.sha256)) return undefined;
    return { tokenId: row.id, actor: `user/${row.name}`, roles: row.roles };
  }

  async all(): Promise<TokenView[]> {
    const rows = await this.database.query<TokenRow[]>(
      `select ${COLUMNS} from api_tokens where revoked_at is null order by created_at, id`,
    );
    return rows.map(viewOf);
  }

  /** True when it was not there before. */
  async insert({ id, name, sha256, roles, createdAt }: TokenRecord): Promise<boolean> {
    const inserted = await this.database.query<unknown[]>(
      `insert into api_tokens (id, name, sha256, roles, created_at) values ($1, $2, $3, $4::jsonb, $5)
       on conflict (id) do nothing returning id`,
      [id, name, sha256, JSON.stringify(roles), createdAt],
    );
    return inserted.length > 0;
  }

  /** False when there is no such token. Revoking twice is revoking once. */
  async revoke(id: string, at: Date): Promise<boolean> {
    const found = await this.database.query<unknown[]>('select 1 from api_tokens where id = $1', [id]);
    if (found.length === 0) return false;
    await this.database.query('update api_tokens set revoked_at = $2 where id = $1 and revoked_at is null', [id, at]);
    return true;
  }
}
