import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Nodes1790000000000 implements MigrationInterface {
  name = 'Nodes1790000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table nodes (
        key text primary key,
        seq bigint not null,
        doc jsonb not null,
        partition int generated always as ((doc->>'partition')::int) stored,
        agent_started boolean generated always as ((doc->>'agentStarted')::boolean) stored
      )`);
    await runner.query('create index nodes_watched on nodes (partition) where agent_started');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table nodes');
  }
}
