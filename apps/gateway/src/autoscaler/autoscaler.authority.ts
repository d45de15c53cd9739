import { issueAuthority, issueServer } from '@fairlead/embedded/credentials';
import type { SecretRef } from '@fairlead/contracts';
import { CLOCK, DATABASE, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';

const REF = 'gateway.autoscaler.authority' as SecretRef;
/** Whose key seals it: that of the installation's own secrets. */
const OWNER = 'shared';
/** Clients keep the certificate of the authority in their configuration. */
const AUTHORITY_DAYS = 7_300;
/** Issued at each start, and kept in memory only; longer than any process runs. */
const SERVER_DAYS = 1_825;
/** Any number that is no other advisory lock in the gateway's database. */
const AUTHORITY_LOCK = 0x41555430;

/** The authority that signs the certificates of autoscalers, and that of the server that they call. Made once, and sealed. */
@Injectable()
export class AutoscalerAuthority {
  private known: Promise<string> | undefined;

  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Its certificate and key, PEM. */
  pair(): Promise<string> {
    this.known ??= this.ensure().catch((error: unknown) => {
      this.known = undefined;
      throw error;
    });
    return this.known;
  }

  /** A certificate and key for a server that is called by these names. */
  async serverPair(names: readonly string[]): Promise<string> {
    const now = this.clock.now();
    return issueServer(await this.pair(), { name: 'Fairlead autoscaler', names, days: SERVER_DAYS, now });
  }

  /** Of all replicas, one makes it, and the others wait for that one. */
  private ensure(): Promise<string> {
    return this.database.transaction(async (manager) => {
      await manager.query('select pg_advisory_xact_lock($1)', [AUTHORITY_LOCK]);
      const found = await this.secrets.get(REF);
      if (found !== undefined) return found;
      const now = this.clock.now();
      const made = await issueAuthority({ name: 'Fairlead autoscaler authority', days: AUTHORITY_DAYS, now });
      await this.secrets.put(REF, made, OWNER);
      return made;
    });
  }
}
