import {
  AGENT_MESSAGE_MAX_BYTES,
  AgentSyncMessage,
  CHART_VERSION_LENGTH_MAX,
  HostJoinView,
  LabelKey,
  NAME_RESERVATION_LENGTH_MAX,
  NameReservation,
  parseVersion,
  REFUSALS,
  SCHEMA_BYTES_MAX,
} from '@fairlead/contracts';
import { certificateFault } from '@fairlead/parsers/certificates';
import {
  WORST_JSON,
  WORST_LINES,
  WORST_PEM,
  WORST_PROTOBUF,
  WORST_YAML,
  type WorstText,
} from '@fairlead/testing/worst.texts';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { helmJson, objectsIn } from '../../apps/bootstrap-svc/src/adapters/helm/helm.program.js';
import { replyIn } from '../../apps/bootstrap-svc/src/adapters/nats/host.channels.js';
import { requestIn } from '../../apps/bootstrap-svc/src/hosts/agent.credentials.effects.js';
import { parseInventory } from '../../apps/bootstrap-svc/src/releases/inventory.js';
import { parseValues } from '../../apps/cli/src/addon/values.file.js';
import { errorBodyOf } from '../../apps/cli/src/api/api.failures.js';
import { endOf } from '../../apps/cli/src/api/issuer.effects.js';
import { parseSettings } from '../../apps/cli/src/connection/connection.commands.js';
import { checkHandover } from '../../apps/cli/src/handover/handover.file.store.js';
import { labAnswerIn } from '../../apps/cli/src/lab/lab.effects.js';
import { parseSchema } from '../../apps/gateway/src/applications/applications.queries.js';
import { isJwt } from '../../apps/gateway/src/auth/issuer.client.js';
import { AutoscalerAccess } from '../../apps/gateway/src/autoscaler/autoscaler.access.js';
import { decodeMessage, type MessageName } from '../../apps/gateway/src/autoscaler/externalgrpc.messages.js';
import { parseOutput } from '../../apps/gateway/src/executions/executions.js';
import { parseMonitored } from '../../apps/gateway/src/limits/monitor.client.js';
import { typesOf, type Method } from '../../apps/infra-svc/src/adapters/external/external.client.js';
import { asJson, asYaml, compact, schemasIn } from '../../apps/infra-svc/src/adapters/helm/helm.archive.js';
import { jsonOf as keycloakJson } from '../../apps/infra-svc/src/adapters/keycloak/keycloak.client.js';
import { jsonOf as labJson } from '../../apps/infra-svc/src/adapters/lab/lab.client.js';
import { opensshKeys } from '../../apps/infra-svc/src/adapters/ssh-keys/openssh.keys.js';
import { reservationIn } from '../../apps/infra-svc/src/adapters/tunnel/nats.tunnel.names.js';
import { newestIn, planOf } from '../../apps/infra-svc/src/catalogue/catalogue.planner.js';
import { linesOf } from '../../apps/node-agent/src/adapters/kubernetes/kube.client.js';
import { parseNodeList, parseWatchLine } from '../../apps/node-agent/src/adapters/kubernetes/node.watch.js';
import { clientCertificateIn } from '../../apps/node-agent/src/certificates/certificates.js';
import { parseAnswer } from '../../apps/node-agent/src/host/host.join.js';
import { parseRecord } from '../../apps/node-agent/src/software/cni.item.js';
import { valueOf } from '../../apps/tunnel/src/adapters/nats/nats.names.js';
import { isSigned } from '../../apps/tunnel/src/adapters/ssh/ssh.sessions.js';
import { Certificates } from '../../apps/tunnel/src/adapters/tls/certificates.js';
import { SealedCookies } from '../../apps/tunnel/src/sign-in/sealed.cookies.js';
import { unsupportedIn } from '../../apps/upgrade-svc/src/rules/corefile.rules.js';
import { ladybugRouteOf } from '../../apps/gateway/src/ladybug/ladybug.rules.js';
import { sentenceOf } from '../../apps/gateway/src/ladybug/ladybug.sentences.js';
import { memberIn } from '../../apps/node-agent/src/change/etcd.manifest.js';
import { pemsIn } from '../../apps/node-agent/src/change/kubelet.renewal.js';
import { readTar } from '../../libs/mirror/src/tar.js';
import { Readable } from 'node:stream';
import { jsonIn } from '../../apps/upgrade-svc/src/agents/state.effects.js';
import { inFile } from '../../apps/web/src/audit/audit.file.js';
import { messages } from '../../libs/api-client/src/messages.js';
import { events } from '../../libs/api-client/src/events.js';
import { nodeLogs } from '../../libs/api-client/src/logs.js';
import { readClaims } from '../../libs/embedded/src/credentials/claims.js';
import { refusal } from '../../libs/kubernetes/src/cluster/eviction.js';
import { objectIn } from '../../libs/kubernetes/src/known.resources.js';
import { ClusterBudget } from '../../libs/kubernetes/src/cluster.budget.js';
import { listPages, PAGE_BYTES_MAX } from '../../libs/kubernetes/src/list.pages.js';
import { inspectBundle } from '../../libs/mirror/src/bundle.js';
import { OciCharts } from '../../libs/service-kit/src/charts/oci.charts.js';
import { ApiException } from '@kubernetes/client-node';
import { bytes, KIB, MIB, type Entrance, type Shapes } from './entrance.js';

type Row = readonly [file: string, what: string, shapes: Shapes, lengthMax: number, feed: (text: string) => unknown];

const { signal } = new AbortController();
const BASE = { baseUrl: 'http://127.0.0.1', token: 't', signal };
const NODE = { namespace: 'default', cluster: 'demo', node: 'n' };

/** A bucket of NATS with one entry. */
const bucketOf = (text: string) => ({ get: async () => ({ operation: 'PUT', string: () => text }) }) as never;

/** A fetch that answers this. */
const answering = (text: string, status = 200) => ({ ...BASE, fetch: async () => new Response(text, { status }) });

const all = async (items: AsyncIterable<unknown>): Promise<number> => {
  let count = 0;
  for await (const _ of items) count += 1;
  return count;
};

/** In chunks of four bytes, as a server may send it; in larger ones if it is long, because each takes a microsecond. */
async function* inPieces(text: string): AsyncGenerator<string> {
  const length = Math.max(4, Math.ceil(text.length / 16_384));
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
}

const inFolder = async (text: Uint8Array, read: (file: string) => Promise<unknown>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-text-'));
  try {
    writeFileSync(join(folder, 'file'), text);
    await read(join(folder, 'file'));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Packed beforehand: only what unpacks it is measured. */
const packed = (shapes: Shapes, pack: (text: Uint8Array) => Uint8Array): Shapes =>
  Object.fromEntries(
    Object.entries(shapes).map(([name, textOf]): [string, WorstText] => [
      name,
      (length) => Buffer.from(pack(bytes(textOf(length)))).toString('latin1'),
    ]),
  );
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

const token = (text: string): string => `a.${Buffer.from(text).toString('base64url')}.a`;
const TOKENS: Shapes = {
  ...WORST_LINES,
  ...Object.fromEntries(
    Object.entries(WORST_JSON).map(([name, textOf]) => [name, (length) => token(textOf((length * 3) / 4 - 4))]),
  ),
};
const KEYS = createLocalJWKSet({ keys: [] });

/** The versions of an index, one in each line. */
const VERSIONS: Shapes = {
  'long versions in disorder': (length) =>
    Array.from({ length: Math.floor(length / CHART_VERSION_LENGTH_MAX) }, (_, at) =>
      `${(at * 7_919) % 10_007}.0.0-${'a.'.repeat(64)}`.slice(0, CHART_VERSION_LENGTH_MAX - 2),
    ).join('b\n'),
  'short versions in disorder': (length) =>
    Array.from({ length: Math.floor(length / 10) }, (_, at) => `${(at * 7_919) % 10_007}.0.0`).join('\n'),
};
const INDEXED_MAX = 10_000;

const MESSAGES_OF_AUTOSCALER: readonly MessageName[] = ['NodeRequest', 'Nodes', 'Delta', 'OptionsRequest', 'Empty'];
const METHODS_OF_PROVIDERS: readonly Method[] = ['ListSpecs', 'EnsureMachines', 'ListMachines', 'DescribeMachines'];

const ROWS: readonly Row[] = [
  ['apps/cli/src/lab/lab.effects.ts', 'an answer of the lab to a person', WORST_JSON, 4 * MIB, labAnswerIn],
  ['apps/bootstrap-svc/src/adapters/helm/helm.program.ts', 'what helm prints', WORST_JSON, 32 * MIB, helmJson],
  ['apps/bootstrap-svc/src/adapters/helm/helm.program.ts', 'objects of a release', WORST_YAML, 4 * MIB, objectsIn],
  ['libs/kubernetes/src/known.resources.ts', 'an object of an API server', WORST_JSON, 4 * MIB, objectIn],
  ['apps/bootstrap-svc/src/releases/inventory.ts', 'an inventory of an add-on', WORST_JSON, 256 * KIB, parseInventory],
  [
    'libs/service-kit/src/charts/oci.charts.ts',
    'an answer of a registry of charts',
    { ...WORST_JSON, tags: (length) => `{"tags":[${'"1.0.0",'.repeat((length - 20) / 8)}"a"]}` },
    MIB,
    (text) => {
      const bytesOf = Buffer.from(text);
      const answer = {
        kind: 'answered',
        status: 200,
        bytes: bytesOf,
        location: '',
        challenge: '',
        link: text,
      } as const;
      const charts = new OciCharts({ download: async () => answer });
      return charts.versions({ repository: 'oci://charts.example.org/x', chart: 'y' } as never, () => [], signal);
    },
  ],
  ['apps/cli/src/addon/values.file.ts', 'values of a chart', WORST_YAML, 4 * MIB, (text) => parseValues(text, 'file')],
  [
    'apps/infra-svc/src/adapters/helm/helm.archive.ts',
    'the schema of a chart',
    WORST_JSON,
    SCHEMA_BYTES_MAX,
    (text) => compact(text, asJson, 'file'),
  ],
  [
    'apps/infra-svc/src/adapters/helm/helm.archive.ts',
    'the schema of a form of a chart',
    WORST_YAML,
    SCHEMA_BYTES_MAX,
    (text) => compact(text, asYaml, 'file'),
  ],
  [
    'apps/infra-svc/src/adapters/helm/helm.archive.ts',
    'the archive of a chart',
    packed(WORST_LINES, gzipSync),
    8 * MIB,
    (text) => schemasIn(latin1(text), 'chart', signal),
  ],
  ['apps/infra-svc/src/adapters/keycloak/keycloak.client.ts', 'an answer of Keycloak', WORST_JSON, MIB, keycloakJson],
  ['apps/infra-svc/src/adapters/lab/lab.client.ts', 'an answer of the lab', WORST_JSON, 16 * MIB, labJson],
  [
    'apps/tunnel/src/adapters/nats/nats.names.ts',
    'a reserved name, to the tunnel',
    WORST_JSON,
    NAME_RESERVATION_LENGTH_MAX,
    (text) => valueOf(bucketOf(text), 'name', NameReservation),
  ],
  [
    'apps/infra-svc/src/adapters/tunnel/nats.tunnel.names.ts',
    'a reserved name, to infra-svc',
    WORST_JSON,
    NAME_RESERVATION_LENGTH_MAX,
    (text) => reservationIn(bucketOf(text), 'name'),
  ],
  [
    'apps/tunnel/src/sign-in/sealed.cookies.ts',
    'a cookie of a browser',
    WORST_LINES,
    16 * KIB,
    (text) => new SealedCookies('key').open('session', text, NameReservation),
  ],
  [
    'apps/tunnel/src/adapters/tls/certificates.ts',
    'a certificate of the administrator',
    { ...WORST_LINES, ...WORST_PEM },
    MIB,
    (text) => new Certificates({ given: () => text, authority: undefined }).contextOf('a.example.org'),
  ],
  [
    'apps/tunnel/src/adapters/ssh/ssh.sessions.ts',
    'a public key in a packet of SSH',
    { ...WORST_LINES, ...WORST_PEM },
    35_000,
    (text) => isSigned({ key: { algo: 'ssh-ed25519', data: Buffer.from(text) } } as never),
  ],
  [
    'apps/infra-svc/src/adapters/ssh-keys/openssh.keys.ts',
    'a private key of SSH',
    { ...WORST_LINES, ...WORST_PEM },
    64 * KIB,
    (text) => opensshKeys.read(text, ''),
  ],
  [
    'apps/infra-svc/src/catalogue/catalogue.planner.ts',
    'a range of versions that is kept',
    { ...WORST_LINES, alternatives: (length) => '1||'.repeat(length / 3) },
    200,
    (range) => newestIn({ range, keep: 1 }, ['1.0.0']),
  ],
  [
    'apps/infra-svc/src/catalogue/catalogue.planner.ts',
    'the versions of an index',
    VERSIONS,
    INDEXED_MAX * CHART_VERSION_LENGTH_MAX,
    (text) => {
      const indexed = text.split('\n', INDEXED_MAX).map((version) => ({ version, deprecated: false }) as never);
      return planOf({ range: '>=0.0.0-0', keep: 10 }, indexed, []);
    },
  ],
  ['libs/contracts/src/versions.ts', 'a version that something prints', WORST_LINES, 4 * KIB, parseVersion],
  ['apps/gateway/src/limits/monitor.client.ts', 'an answer of the monitor of NATS', WORST_JSON, MIB, parseMonitored],
  ['apps/gateway/src/executions/executions.ts', 'the output of a command', WORST_JSON, 16 * MIB, parseOutput],
  [
    'apps/gateway/src/applications/applications.queries.ts',
    'a schema in the database',
    WORST_JSON,
    SCHEMA_BYTES_MAX,
    parseSchema,
  ],
  [
    'apps/gateway/src/auth/issuer.client.ts',
    'a token of an issuer',
    TOKENS,
    12_288,
    (text) => isJwt(text) && jwtVerify(text, KEYS),
  ],
  ...MESSAGES_OF_AUTOSCALER.map((name): Row => [
    'apps/gateway/src/autoscaler/externalgrpc.messages.ts',
    `a message of cluster-autoscaler: ${name}`,
    WORST_PROTOBUF,
    4 * MIB,
    (text) => decodeMessage(name, latin1(text)),
  ]),
  [
    'apps/gateway/src/autoscaler/autoscaler.access.ts',
    'a client certificate of cluster-autoscaler',
    { ...WORST_PROTOBUF, ...WORST_PEM },
    64 * KIB,
    (text) =>
      new AutoscalerAccess(...([] as unknown as ConstructorParameters<typeof AutoscalerAccess>)).open(latin1(text)),
  ],
  ...METHODS_OF_PROVIDERS.map((method): Row => [
    'apps/infra-svc/src/adapters/external/external.client.ts',
    `an answer of an external provider: ${method}`,
    WORST_PROTOBUF,
    4 * MIB,
    (text) => typesOf(method).deserialize(latin1(text)),
  ]),
  [
    'libs/parsers/src/certificates.ts',
    'certificates of an authority',
    { ...WORST_LINES, ...WORST_PEM },
    16 * KIB,
    certificateFault,
  ],
  ['apps/bootstrap-svc/src/adapters/nats/host.channels.ts', 'a reply of a host', WORST_JSON, 64 * KIB, replyIn],
  [
    'apps/bootstrap-svc/src/hosts/agent.credentials.effects.ts',
    'a request for a credential',
    WORST_JSON,
    64 * KIB,
    (text) => requestIn({ string: () => text } as never),
  ],
  [
    'apps/upgrade-svc/src/agents/state.effects.ts',
    'a request of an agent',
    WORST_JSON,
    AGENT_MESSAGE_MAX_BYTES,
    (text) => AgentSyncMessage.safeParse(jsonIn(bytes(text))),
  ],
  ['apps/node-agent/src/adapters/kubernetes/node.watch.ts', 'a Node, as read', WORST_JSON, 4 * MIB, parseNodeList],
  ['apps/node-agent/src/adapters/kubernetes/node.watch.ts', 'a Node, as watched', WORST_JSON, 4 * MIB, parseWatchLine],
  [
    'apps/node-agent/src/adapters/kubernetes/kube.client.ts',
    'the lines of a watch',
    WORST_LINES,
    4 * MIB,
    (text) => all(linesOf(inPieces(text))),
  ],
  [
    'apps/node-agent/src/host/host.join.ts',
    'what the gateway answers to a host',
    WORST_JSON,
    256 * KIB,
    (text) => HostJoinView.safeParse(parseAnswer(text)),
  ],
  [
    'apps/node-agent/src/certificates/certificates.ts',
    'a certificate of a host, or its kubeconfig',
    { ...WORST_LINES, ...WORST_PEM },
    MIB,
    clientCertificateIn,
  ],
  ['apps/node-agent/src/software/cni.item.ts', 'what the agent noted of plugins', WORST_JSON, 64 * KIB, parseRecord],
  [
    'apps/cli/src/api/api.failures.ts',
    'a refusal of the gateway, or the page of a proxy',
    WORST_JSON,
    MIB,
    (text) => errorBodyOf(new Response(text)),
  ],
  [
    'apps/cli/src/api/issuer.effects.ts',
    'a token that an issuer grants',
    TOKENS,
    64 * KIB,
    (text) => endOf(text, {} as never, 0),
  ],
  ['apps/cli/src/connection/connection.commands.ts', 'settings of a connection', WORST_YAML, 4 * MIB, parseSettings],
  [
    'apps/cli/src/handover/handover.file.store.ts',
    'a file of a handover',
    packed({ ...WORST_JSON, ...WORST_LINES }, gzipSync),
    4 * MIB,
    (text) => inFolder(latin1(text), (file) => checkHandover(file, '')),
  ],
  [
    'apps/web/src/audit/audit.file.ts',
    'a saved log, to a browser',
    WORST_JSON,
    64 * MIB,
    (text) => inFile({ name: 'log.json', text: async () => text }),
  ],
  [
    'libs/api-client/src/messages.ts',
    'a stream of events, and a refusal of it',
    { ...WORST_JSON, ...WORST_LINES },
    MIB,
    async (text) => {
      await all(messages(new URL(BASE.baseUrl), answering(text))).catch(() => undefined);
      await all(messages(new URL(BASE.baseUrl), answering(text, 400))).catch(() => undefined);
    },
  ],
  [
    'libs/api-client/src/events.ts',
    'an event of a stream',
    WORST_JSON,
    2 * MIB,
    (text) => {
      const stop = new AbortController();
      const options = { ...answering(`data: ${text}\n\n`), signal: stop.signal };
      return events({ ...options, onDisconnected: () => stop.abort() }).next();
    },
  ],
  [
    'libs/api-client/src/logs.ts',
    'lines of a log of a node',
    WORST_JSON,
    2 * MIB,
    (text) => nodeLogs({ ...answering(`event: lines\ndata: ${text}\n\n`), of: NODE, query: {} }).next(),
  ],
  ['libs/embedded/src/credentials/claims.ts', 'claims of a user of NATS', TOKENS, 64 * KIB, readClaims],
  [
    'libs/kubernetes/src/cluster/eviction.ts',
    'why a pod is not evicted',
    {
      ...WORST_JSON,
      causes: (length) => `{"details":{"causes":[${'{"message":"disruption budget"},'.repeat((length - 40) / 32)}{}]}}`,
    },
    64 * KIB,
    (text) => refusal(new ApiException(429, '', text, {}), 'default'),
  ],
  [
    'libs/kubernetes/src/list.pages.ts',
    'a page of a list of an API server',
    { ...WORST_JSON, items: (length) => `{"items":[${'{"metadata":{"name":"a"}},'.repeat((length - 40) / 26)}{}]}` },
    PAGE_BYTES_MAX,
    (text) =>
      listPages(
        { budget: new ClusterBudget(), page: async () => Buffer.from(text) },
        { operation: 'list pods', path: '/api/v1/pods' },
        ({ metadata }) => ({ name: metadata?.name }),
      ),
  ],
  [
    'libs/contracts/src/labels.ts',
    'the key of a label',
    { ...WORST_LINES, dotted: (length) => 'a.'.repeat(length / 2), dashed: (length) => `${'a-'.repeat(length / 2)}/` },
    256 * KIB,
    (text) => LabelKey.safeParse(text),
  ],
  [
    'apps/upgrade-svc/src/rules/corefile.rules.ts',
    'a Corefile',
    { ...WORST_LINES, options: (length) => `.:53 {\nforward {\n${'max_fails\n'.repeat(length / 10 - 3)}` },
    256 * KIB,
    (text) => unsupportedIn(text, 'v1.13.1'),
  ],
  [
    'apps/gateway/src/ladybug/ladybug.rules.ts',
    'the path of a request',
    { ...WORST_LINES, segments: (length) => 'ns/a/clusters/'.repeat(length / 14) },
    16 * KIB,
    (text) => ladybugRouteOf('GET', text),
  ],
  [
    'apps/gateway/src/ladybug/ladybug.sentences.ts',
    'a refusal that quotes a request',
    { ...WORST_LINES, words: (length) => ' of cluster in namespace'.repeat(length / 24) },
    KIB,
    (text) =>
      Object.entries(REFUSALS).map(([code, { sentence }]) => sentenceOf(code, sentence.replaceAll(/\{\w+\}/g, text))),
  ],
  [
    'apps/node-agent/src/change/etcd.manifest.ts',
    'the manifest of etcd on a host',
    { ...WORST_LINES, flags: (length) => '- --name=\n'.repeat(length / 10) },
    MIB,
    memberIn,
  ],
  [
    'apps/node-agent/src/change/kubelet.renewal.ts',
    'a kubeconfig that kubeadm prints',
    { ...WORST_LINES, parts: (length) => 'client-key-data:\n'.repeat(length / 17) },
    MIB,
    pemsIn,
  ],
  [
    'libs/mirror/src/tar.ts',
    'an archive',
    { ...WORST_LINES, ...WORST_PROTOBUF },
    4 * MIB,
    (text) => all(readTar(Readable.from([latin1(text)]))),
  ],
  [
    'libs/mirror/src/bundle.ts',
    'a bundle of releases',
    packed({ ...WORST_LINES, ...WORST_PROTOBUF }, gzipSync),
    4 * MIB,
    (text) => inFolder(latin1(text), inspectBundle),
  ],
];

/** Text that goes straight to a bounded parser and from there to a schema. */
export const SMALL_ENTRANCES: readonly Entrance[] = ROWS.map(([file, what, shapes, lengthMax, feed]) => ({
  ...{ file, what, shapes, lengthMax, feed },
}));
