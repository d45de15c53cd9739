import { EVENTS } from './events/catalogue.js';
import type { ServiceName } from './events/definition.js';
import { partitionOf, SECRETS_BUCKET, SNAPSHOTS_BUCKET, STREAMS } from './subjects.js';

/** What a NATS credential may do; the server enforces it. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Each client has an inbox of its own, so that no client can read another's answers. */
export const inboxPrefix = (client: string): string => `_INBOX_${client.replaceAll('.', '_')}`;

const KV = `KV_${SECRETS_BUCKET}`;
const OBJECTS = `OBJ_${SNAPSHOTS_BUCKET}`;

/** Contexts of which one service writes every event; one pattern stands for all of these. */
const isOwn = (context: string, service: ServiceName): boolean =>
  Object.values(EVENTS).every((event) => event.context !== context || event.writer === service);

/**
 * NATS wildcards are whole tokens, so `health-*` cannot be written: where the context carries a name, the event's type
 * pins the subject instead, which has one writer. Patterns are few because a client shows all of them in its first line, which
 * nats-server reads only up to 4 KiB (max_control_line).
 */
const factsOf = (service: ServiceName): readonly string[] => [
  ...new Set(
    Object.entries(EVENTS).flatMap(([type, { writer, context }]) => {
      if (writer === 'every-service') return [`evt.*.*.*.${context.replace('<service>', service)}.${type}`];
      if (writer !== service) return [];
      if (context.includes('<')) return [`evt.*.*.*.*.${type}`];
      return [`evt.*.*.*.${context}.${isOwn(context, service) ? '*' : type}`];
    }),
  ),
];

const readEvents: readonly string[] = [
  '$JS.API.INFO',
  `$JS.API.STREAM.INFO.${STREAMS.events}`,
  `$JS.API.STREAM.MSG.GET.${STREAMS.events}`,
  `$JS.API.DIRECT.GET.${STREAMS.events}`,
  `$JS.API.DIRECT.GET.${STREAMS.events}.>`,
  `$JS.API.CONSUMER.CREATE.${STREAMS.events}.>`,
  `$JS.API.CONSUMER.INFO.${STREAMS.events}.>`,
  `$JS.API.CONSUMER.DELETE.${STREAMS.events}.>`,
  `$JS.API.CONSUMER.MSG.NEXT.${STREAMS.events}.>`,
  `$JS.FC.${STREAMS.events}.>`,
];

const ownJobs = (service: ServiceName): readonly string[] => [
  `job.${service}.*`,
  `dlq.${service}.*`,
  `$JS.API.STREAM.INFO.${STREAMS.jobs}`,
  `$JS.API.CONSUMER.CREATE.${STREAMS.jobs}.${service}.>`,
  `$JS.API.CONSUMER.DURABLE.CREATE.${STREAMS.jobs}.${service}`,
  `$JS.API.CONSUMER.INFO.${STREAMS.jobs}.${service}`,
  `$JS.API.CONSUMER.MSG.NEXT.${STREAMS.jobs}.${service}`,
  `$JS.ACK.${STREAMS.jobs}.${service}.>`,
];

const secrets = (service: ServiceName): readonly string[] => [
  `$KV.${SECRETS_BUCKET}.${service}.>`,
  `$JS.API.STREAM.INFO.${KV}`,
  `$JS.API.DIRECT.GET.${KV}.>`,
  `$JS.API.DIRECT.GET.${KV}`,
  `$JS.API.STREAM.MSG.GET.${KV}`,
];

/** What the object store's client asks of the stream behind it. */
const snapshots: readonly string[] = [
  `$O.${SNAPSHOTS_BUCKET}.>`,
  `$JS.API.STREAM.INFO.${OBJECTS}`,
  `$JS.API.STREAM.PURGE.${OBJECTS}`,
  `$JS.API.STREAM.MSG.GET.${OBJECTS}`,
  `$JS.API.DIRECT.GET.${OBJECTS}.>`,
  `$JS.API.CONSUMER.CREATE.${OBJECTS}.>`,
  `$JS.API.CONSUMER.INFO.${OBJECTS}.>`,
  `$JS.API.CONSUMER.DELETE.${OBJECTS}.>`,
  `$JS.FC.${OBJECTS}.>`,
];

/** bootstrap-svc brings a snapshot to the nodes on which etcd is restored; it writes none. */
const snapshotReads = snapshots.filter((subject) => !subject.startsWith('$O.') && !subject.includes('.PURGE.'));

/** A service may state its own facts, and read all; `heartbeats` are for those that watch nodes. */
export const servicePermissions = (service: ServiceName): Permissions => ({
  publish: [
    ...factsOf(service),
    ...readEvents,
    ...ownJobs(service),
    ...secrets(service),
    ...(service === 'upgrade-svc' ? snapshots : []),
    ...(service === 'bootstrap-svc' ? snapshotReads : []),
    `$JS.API.DIRECT.GET.${STREAMS.heartbeats}.>`,
    `$JS.API.DIRECT.GET.${STREAMS.heartbeats}`,
    `$JS.API.STREAM.INFO.${STREAMS.heartbeats}`,
  ],
  subscribe: [`${inboxPrefix(service)}.>`, 'evt.>', 'hb.>', `$KV.${SECRETS_BUCKET}.>`],
});

/** An agent may state facts about its own node, send its own heartbeat, and read what is wanted of its own node. */
export const nodePermissions = (node: { namespace: string; cluster: string; node: string }): Permissions => {
  const home = `evt.${partitionOf(node.namespace, node.cluster)}.${node.namespace}.${node.cluster}`;
  return {
    publish: [
      `${home}.node-${node.node}.*`,
      `hb.${node.namespace}.${node.cluster}.${node.node}`,
      `$JS.API.DIRECT.GET.${STREAMS.events}.${home}.desired-${node.node}.*`,
      `$JS.API.DIRECT.GET.${STREAMS.events}.${home}.node-${node.node}.*`,
    ],
    subscribe: [`${inboxPrefix(`${node.namespace}-${node.cluster}-${node.node}`)}.>`, `${home}.desired-${node.node}.*`],
  };
};
