import type { JetStreamStrategy, Partitions } from '@fairlead/event-sourcing/jetstream';
import type { DataSource } from 'typeorm';
import type { GaugeRequest } from './service.metrics.js';

interface Surroundings {
  readonly database: DataSource;
  readonly partitions: Partitions;
}

/** Gauges of a service's position in the log, for its operators. */
export const logGauges = ({ database, partitions }: Surroundings): readonly GaugeRequest[] => [
  {
    name: 'fairlead_partitions_owned',
    help: 'Partitions of the log that this replica works on; the replicas of a service share 16',
    labels: [],
    read: () => [{ labels: {}, value: partitions.owned().size }],
  },
  {
    name: 'fairlead_partition_stalled_seconds',
    help: 'For how long events of a partition have waited without it moving; 0 where none waits',
    labels: ['partition'],
    read: () =>
      partitions
        .stalls()
        .map(({ partition, forMs }) => ({ labels: { partition: String(partition) }, value: forMs / 1_000 })),
  },
  {
    name: 'fairlead_quarantined_clusters',
    help: 'Clusters that a consumer of this service cannot go on with; "fairlead quarantine list" names them',
    labels: ['consumer'],
    read: async () => {
      const rows = await database.query<{ consumer: string; n: string }[]>(
        'select consumer, count(*) as n from quarantined group by consumer',
      );
      return rows.map(({ consumer, n }) => ({ labels: { consumer }, value: Number(n) }));
    },
  },
];

/** Tasks are queued in their replica, so each replica counts its own. */
export const tasksGauge = (strategy: Pick<JetStreamStrategy, 'taskCounts'>): GaugeRequest => ({
  name: 'fairlead_tasks',
  help: 'Tasks of the reconcilers of this service in this replica: waiting to start, or running',
  labels: ['state'],
  read: () => Object.entries(strategy.taskCounts).map(([state, value]) => ({ labels: { state }, value })),
});
