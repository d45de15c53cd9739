import { STREAMS } from '@fairlead/contracts';
import type { JetStreamStrategy, Partitions } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import type { GaugeRequest } from './service.metrics.js';

interface Surroundings {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly database: DataSource;
  readonly partitions: Partitions;
}

const ANSWER_TIMEOUT_MS = 2_000;
/** "consumer not found" (nats-server error code 10014): a service without jobs, or none has been asked for yet. */
const NO_CONSUMER = 10014;

interface ConsumerInfo {
  readonly num_pending?: number;
  readonly num_ack_pending?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

/** How a service stands to the log: what every operator of it must see. */
export const logGauges = ({ service, nc, database, partitions }: Surroundings): readonly GaugeRequest[] => [
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
  jobsGauge(service, nc),
];

/** The tasks of reconcilers are in no queue: each replica counts its own. */
export const tasksGauge = (strategy: Pick<JetStreamStrategy, 'taskCounts'>): GaugeRequest => ({
  name: 'fairlead_tasks',
  help: 'Tasks of the reconcilers of this service in this replica: waiting to start, or running',
  labels: ['state'],
  read: () => Object.entries(strategy.taskCounts).map(([state, value]) => ({ labels: { state }, value })),
});

const jobsGauge = (service: string, nc: NatsConnection): GaugeRequest => ({
  name: 'fairlead_jobs',
  help: 'Queued jobs of this service, over all replicas: waiting in the queue, or given to a worker (which may have put them off)',
  labels: ['state'],
  read: async () => {
    const subject = `$JS.API.CONSUMER.INFO.${STREAMS.jobs}.${service}`;
    const answer = await nc.request(subject, '', { timeout: ANSWER_TIMEOUT_MS });
    const info = answer.json<ConsumerInfo>();
    if (info.error?.err_code === NO_CONSUMER) return [];
    if (info.error !== undefined) throw new Error(`the queue of jobs: ${info.error.description ?? 'no answer'}`);
    return [
      { labels: { state: 'waiting' }, value: info.num_pending ?? 0 },
      { labels: { state: 'taken' }, value: info.num_ack_pending ?? 0 },
    ];
  },
});
