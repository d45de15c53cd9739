import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['upgrades', 'upgrade_nodes', 'holds', 'etcd', 'certificates'];

/** Everything of these is in their documents; those that are listed by cluster are found by it. */
const BY_CLUSTER = ['upgrades', 'upgrade_nodes', 'certificates'];

/** Read models of upgrades and of what belongs to them. */
export class UpgradeTables1763800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of TABLES)
      await runner.query(`create table ${table} (key text primary key, seq bigint not null, doc jsonb not null)`);
    for (const table of BY_CLUSTER)
      await runner.query(`
        alter table ${table} add column cluster_key text
          generated always as ((doc->>'namespace') || '/' || (doc->>'cluster')) stored;
        create index ${table}_cluster on ${table} (cluster_key, key)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table ${TABLES.join(', ')}`);
  }
}
