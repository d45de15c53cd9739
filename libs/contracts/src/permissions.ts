import { REVOKER } from './agent.credentials.js';
import { ADDON_SECRETS_OWNER } from './addon.secrets.js';
import { AGENT_EVENT_TYPES } from './agent.facts.js';
import {
  AGENT_RENEW_FILTER,
  AGENT_SYNC_FILTER,
  HOST_REPLY_FILTER,
  hostReplySubject,
  agentFactSubject,
  agentOutputs,
  agentOutputSubject,
  agentRenewSubject,
  agentSyncSubject,
  type AgentOutput,
  type NodeAddress,
} from './agent.subjects.js';
import { EVENTS } from './events/catalogue.js';
import { APPLICATION_SECRETS_OWNER } from './application.js';
import type { ServiceName } from './events/definition.js';
import { HOOK_SECRETS_OWNER } from './hook.secrets.js';
import { BOOTSTRAP_KEYS_OWNERS } from './joins/bootstrap.data.js';
import { HELD_NAMES_BUCKET, PUBLISHED_NAMES_BUCKET, TUNNEL } from './published.names.js';
import { REALM_SECRETS_OWNER } from './realm.js';
import {
  aliveSubject,
  EVERY_EVENT,
  heartbeatSubject,
  logAskSubject,
  logLinesSubject,
  SECRET_KEYS_BUCKET,
  SECRETS_BUCKET,
  SNAPSHOTS_BUCKET,
  storedSubject,
  STREAMS,
} from './subjects.js';

/** The service that validates and records agents' facts. */
export const AGENT_FACTS_RECORDER: ServiceName = 'upgrade-svc';

/** The rights of a NATS credential; the server enforces them. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Each client has its own inbox, so that clients cannot read each other's replies. */
export const inboxPrefix = (client: string): string => `_INBOX_${client.replaceAll('.', '_')}`;

const OBJECTS = `OBJ_${SNAPSHOTS_BUCKET}`;

/** Contexts in which one service writes every event need only one pattern. */
const isOwn = (context: string, service: ServiceName): boolean =>
  Object.values(EVENTS).every((event) => event.context !== context || event.writer === service);

/**
 * NATS wildcards match whole tokens, so `health-*` is not possible: if the context contains a name, the subject is
 * restricted by event type instead, which has one writer. Patterns must be few, because a client sends all of them in
 * its first line, of which nats-server reads only 16 KiB (`max_control_line`).
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

/** Tasks that were abandoned. */
const ownDeadLetters = (service: ServiceName): string => `dlq.${service}.*`;

type ForeignSecret = readonly [
  writer: ServiceName,
  kind: string,
  owner:
    | 'shared'
    | typeof ADDON_SECRETS_OWNER
    | typeof APPLICATION_SECRETS_OWNER
    | typeof BOOTSTRAP_KEYS_OWNERS
    | typeof HOOK_SECRETS_OWNER
    | typeof REALM_SECRETS_OWNER
    | '*',
];

/** Other services' secrets that a service reads: the writer, the kind, and the owner of the key that seals them. */
const FOREIGN_SECRETS: Readonly<Record<ServiceName, readonly ForeignSecret[]>> = {
  gateway: [
    ['bootstrap-svc', 'kubeconfig.*', '*'],
    ['bootstrap-svc', 'reader.*', '*'],
    ['bootstrap-svc', 'exec.*', '*'],
    ['bootstrap-svc', 'channel.*', '*'],
  ],
  'infra-svc': [
    ['gateway', 'connection.>', 'shared'],
    ['gateway', 'bootstrap.*', BOOTSTRAP_KEYS_OWNERS],
    ['gateway', 'realm.>', REALM_SECRETS_OWNER],
    ['gateway', 'application.*', APPLICATION_SECRETS_OWNER],
  ],
  'bootstrap-svc': [
    ['gateway', 'connection.>', 'shared'],
    ['infra-svc', 'ssh-key.*', 'shared'],
    ['infra-svc', 'tunnel.*', '*'],
    ['gateway', 'addon.>', ADDON_SECRETS_OWNER],
    ['gateway', 'application.*', APPLICATION_SECRETS_OWNER],
    ['gateway', 'hook.>', HOOK_SECRETS_OWNER],
    ['upgrade-svc', 'snapshot.*', '*'],
  ],
  'upgrade-svc': [
    ['bootstrap-svc', 'kubeconfig.*', '*'],
    ['gateway', 'hook.>', HOOK_SECRETS_OWNER],
  ],
};

/**
 * A service writes its own secrets, and reads them and those in the table above. Values are read by name only: a read
 * by sequence, or a consumer, would expose the whole bucket.
 */
const secrets = (service: ServiceName): readonly string[] => [
  ...bucketRights(
    SECRETS_BUCKET,
    `${service}.>`,
    FOREIGN_SECRETS[service].map(([writer, kind]) => `${writer}.${kind}`),
  ),
  ...bucketRights(SECRET_KEYS_BUCKET, `${service}.>`, [
    ...new Set(FOREIGN_SECRETS[service].map(([writer, , owner]) => `${writer}.key.${owner}`)),
  ]),
];

const bucketRights = (bucket: string, own: string, foreign: readonly string[]): readonly string[] => [
  `$KV.${bucket}.${own}`,
  ...[own, ...foreign].map((name) => `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.${name}`),
];

/** Requests of the object store's client to its stream. */
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

/** bootstrap-svc copies a snapshot to the nodes on which etcd is restored; it writes none. */
const snapshotReads = snapshots.filter((subject) => !subject.startsWith('$O.') && !subject.includes('.PURGE.'));

const anyNode: NodeAddress = { namespace: '*', cluster: '*', node: '*' };

const agentOutput = (output: AgentOutput): string => agentOutputSubject(anyNode, output);

/**
 * upgrade-svc consumes agents' facts from their stream, records them, and sends agents the desired state of their
 * nodes.
 */
const agentFacts: readonly string[] = [
  ...AGENT_EVENT_TYPES.map((type) => `evt.*.*.*.*.${type}`),
  `$JS.API.CONSUMER.CREATE.${STREAMS.agentFacts}.${AGENT_FACTS_RECORDER}.>`,
  `$JS.API.CONSUMER.*.${STREAMS.agentFacts}.${AGENT_FACTS_RECORDER}`,
  `$JS.API.CONSUMER.MSG.NEXT.${STREAMS.agentFacts}.${AGENT_FACTS_RECORDER}`,
  `$JS.ACK.${STREAMS.agentFacts}.${AGENT_FACTS_RECORDER}.>`,
  agentOutput('recorded'),
  agentOutput('desired'),
  agentOutput('network'),
  agentOutput('state'),
];

/** Configuration and replication of each stream, without any content. */
const LIST_OF_STREAMS = '$JS.API.STREAM.LIST';

const publishOf = (service: ServiceName): readonly string[] => [
  ...factsOf(service),
  aliveSubject(service),
  ...readEvents,
  ownDeadLetters(service),
  ...secrets(service),
  ...(service === AGENT_FACTS_RECORDER ? [...snapshots, ...agentFacts] : []),
  ...(service === 'bootstrap-svc'
    ? [...snapshotReads, agentOutput('credentials'), agentOutput('order'), logLinesSubject('*')]
    : []),
  ...(service === 'gateway' ? [logAskSubject('*'), LIST_OF_STREAMS] : []),
  ...(service === 'infra-svc' ? publishedNames : []),
];

/** NATS publishes here when the settings of the log change: it was closed or reopened. */
export const LOG_CHANGED = `$JS.EVENT.ADVISORY.STREAM.UPDATED.${STREAMS.events}`;

/** A service may write its own facts and read all; `heartbeats` are for services that monitor nodes. */
export const servicePermissions = (service: ServiceName): Permissions => ({
  publish: publishOf(service),
  subscribe: [
    `${inboxPrefix(service)}.>`,
    storedSubject(EVERY_EVENT),
    'hb.>',
    aliveSubject('*'),
    LOG_CHANGED,
    ...(service === AGENT_FACTS_RECORDER ? [AGENT_SYNC_FILTER] : []),
    ...(service === 'bootstrap-svc' ? [AGENT_RENEW_FILTER, HOST_REPLY_FILTER, logAskSubject('*')] : []),
    ...(service === 'gateway' ? [logLinesSubject('*')] : []),
  ],
});

/**
 * An agent may state facts about its own node, send its own heartbeat, request its own state and credential, and
 * receive what services send to its node. It may use neither the JetStream API nor an inbox.
 */
export const nodePermissions = (address: NodeAddress): Permissions => ({
  publish: [
    ...AGENT_EVENT_TYPES.map((type) => agentFactSubject(address, type)),
    agentSyncSubject(address),
    agentRenewSubject(address),
    hostReplySubject(address),
    heartbeatSubject(address.namespace, address.cluster, address.node),
  ],
  subscribe: [agentOutputs(address)],
});

/** Every `AgentCredentialsRevoked`. */
export const REVOCATIONS_FILTER = 'evt.*.*.*.bootstrap.AgentCredentialsRevoked';

/** The revoker reads the log and subscribes to new revocations; it writes nothing. */
export const revokerPermissions = (): Permissions => ({
  publish: [`$JS.API.DIRECT.GET.${STREAMS.events}`],
  subscribe: [`${inboxPrefix(REVOKER)}.>`, storedSubject(REVOCATIONS_FILTER)],
});

const entriesOf = (bucket: string): string => `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.>`;

/** infra-svc reserves names for keys, and reads which are held. */
const publishedNames: readonly string[] = [
  `$KV.${PUBLISHED_NAMES_BUCKET}.>`,
  entriesOf(PUBLISHED_NAMES_BUCKET),
  entriesOf(HELD_NAMES_BUCKET),
];

/** The tunnel reads for which key a name is reserved, and states which it holds: nothing else, and nothing of the log. */
export const tunnelPermissions = (): Permissions => ({
  publish: [`$KV.${HELD_NAMES_BUCKET}.>`, entriesOf(HELD_NAMES_BUCKET), entriesOf(PUBLISHED_NAMES_BUCKET)],
  subscribe: [`${inboxPrefix(TUNNEL)}.>`],
});

export const claimsUpdateSubject = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CLAIMS.UPDATE`;
export const claimsLookupSubject = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`;

/** Lists the connections of an account. */
export const accountConnectionsSubject = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CONNZ`;
/** A server publishes here each connection of an account that opens or closes. */
export const accountReportsSubject = (account: string): string => `$SYS.ACCOUNT.${account}.*`;
/** Makes a server close one of its connections. */
export const closeConnectionSubject = (server: string): string => `$SYS.REQ.SERVER.${server}.KICK`;

/**
 * In the system account: the revoker may read and replace the claims of the nodes' account, and list its connections.
 * It may close any connection of a server, because NATS has no narrower permission.
 */
export const revokerSystemPermissions = (nodesAccount: string): Permissions => ({
  publish: [
    claimsUpdateSubject(nodesAccount),
    claimsLookupSubject(nodesAccount),
    accountConnectionsSubject(nodesAccount),
    closeConnectionSubject('*'),
  ],
  subscribe: [`${inboxPrefix(REVOKER)}.>`, accountReportsSubject(nodesAccount)],
});
