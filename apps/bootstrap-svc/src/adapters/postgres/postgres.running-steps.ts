import { wordsOf } from '@fairlead/contracts';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { RunningSteps } from '../../bootstrap/steps.ports.js';
import { Batcher } from './batcher.js';

/** Without a sign of life for so long a hold has ended: its process is gone. */
const HOLD_SECONDS = 15;
const RENEW_EVERY_MS = 5_000;
const BATCH_MAX = 200;

interface Hold {
  readonly uid: string;
  readonly step: string;
  readonly holder: string;
}

/** Holds as rows. The database's clock is the only one that counts. */
export class PostgresRunningSteps implements RunningSteps {
  private readonly log = new Logger('running-steps');
  private readonly holders = new Set<string>();
  private readonly holding = new Batcher<Hold, boolean>(BATCH_MAX, (holds) => this.holdAll(holds));
  private readonly releasing = new Batcher<string, void>(BATCH_MAX, (holders) => this.releaseAll(holders));
  private renewing: NodeJS.Timeout | undefined;

  constructor(private readonly database: DataSource) {}

  async hold(uid: string, step: string, holder: string): Promise<boolean> {
    if (!(await this.holding.add({ uid, step, holder }))) return false;
    this.holders.add(holder);
    this.renewing ??= setInterval(() => void this.renew(), RENEW_EVERY_MS).unref();
    return true;
  }

  async release(_uid: string, _step: string, holder: string): Promise<void> {
    this.holders.delete(holder);
    if (this.holders.size === 0) this.stopRenewing();
    await this.releasing.add(holder);
  }

  async others(uid: string, step: string): Promise<readonly string[]> {
    const rows: { step: string }[] = await this.database.query(
      'select step from running_steps where uid = $1 and step <> $2 and until >= now() order by step',
      [uid, step],
    );
    return rows.map((row) => row.step);
  }

  /** Of two that ask for the same step in one batch the first one gets it, as if they had come one after the other. */
  private async holdAll(holds: readonly Hold[]): Promise<readonly boolean[]> {
    const first = new Map(holds.toReversed().map((hold) => [`${hold.uid}/${hold.step}`, hold]));
    // In one order everywhere, so that two replicas' batches cannot wait for each other's rows.
    const asked = [...first].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, hold]) => hold);
    const rows: { holder: string }[] = await this.database.query(
      `insert into running_steps (uid, step, holder, until)
       select uid, step, holder, now() + make_interval(secs => $4)
         from unnest($1::text[], $2::text[], $3::text[]) as asked (uid, step, holder)
       on conflict (uid, step) do update set holder = excluded.holder, until = excluded.until
        where running_steps.until < now()
       returning holder`,
      [asked.map(({ uid }) => uid), asked.map(({ step }) => step), asked.map(({ holder }) => holder), HOLD_SECONDS],
    );
    const held = new Set(rows.map(({ holder }) => holder));
    return holds.map(({ holder }) => held.has(holder));
  }

  private async releaseAll(holders: readonly string[]): Promise<readonly void[]> {
    await this.database.query('delete from running_steps where holder = any($1)', [holders]);
    return holders.map(() => undefined);
  }

  /** A missed renewal is made up by the next one; three in a row end the holds, and the folds show what others did. */
  private async renew(): Promise<void> {
    try {
      await this.database.query(
        'update running_steps set until = now() + make_interval(secs => $1) where holder = any($2)',
        [HOLD_SECONDS, [...this.holders]],
      );
    } catch (error) {
      this.log.warn(`holds were not renewed: ${wordsOf(error)}`);
    }
  }

  private stopRenewing(): void {
    clearInterval(this.renewing);
    this.renewing = undefined;
  }
}
