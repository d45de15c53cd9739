import type { DataSource } from 'typeorm';

/** Any number that is not used as another advisory lock in a service's database. */
const MIGRATION_LOCK = 0x4d494752;

/**
 * Migrates the database; of replicas that start together, one does it and the others wait. The lock ends with the
 * session, so a killed replica blocks no other.
 */
export const migrateUnderLock = async (database: DataSource): Promise<void> => {
  const runner = database.createQueryRunner();
  await runner.connect();
  try {
    await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    try {
      await database.runMigrations({ transaction: 'each' });
    } finally {
      // A lost session has released the lock, and the failure that ended it is already reported.
      await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    }
  } finally {
    await runner.release();
  }
};
