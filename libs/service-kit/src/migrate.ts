import type { DataSource } from 'typeorm';

/** Any number that nothing else uses as an advisory lock in a service's own database. */
const MIGRATION_LOCK = 0x4d494752;

/**
 * Brings the database up to date; of replicas that start together one does it and the others wait. The lock goes with the session, so a
 * replica that was killed meanwhile delays no other.
 */
export const migrateUnderLock = async (database: DataSource): Promise<void> => {
  const runner = database.createQueryRunner();
  await runner.connect();
  try {
    await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    try {
      await database.runMigrations({ transaction: 'each' });
    } finally {
      // A session that is gone has no lock any more, and what ended it is reported already.
      await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    }
  } finally {
    await runner.release();
  }
};
