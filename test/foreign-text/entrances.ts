import {
  AGENT_MESSAGE_MAX_BYTES,
  ClusterManifest,
  ClusterRequest,
  GATE_MANIFEST_LENGTH_MAX,
  gateJobOf,
  nextRunAfter,
  parseCatalogue,
  parseReleaseCatalogue,
  RELEASE_CATALOGUE_LENGTH_MAX,
  UpgradeRequest,
} from '@fairlead/contracts';
import { hookOutcomeOf, type HookCall } from '@fairlead/domain';
import { parseKubeadmRefusal, parseKubeletConfiguration } from '@fairlead/parsers';
import { WORST_JSON, WORST_LINES, WORST_YAML, type WorstText } from '@fairlead/testing/worst.texts';
import { X509Certificate } from 'node:crypto';
import validRange from 'semver/ranges/valid.js';
import { kubeadmManifests } from '../../libs/kubernetes/src/kubeadm.js';
import { parseClusterDocument } from '../../apps/cli/src/cluster/cluster.request.js';
import { parseManifests } from '../../apps/cli/src/document/manifest.document.js';
import { parseLine } from '../../apps/cli/src/handover/handover.file.js';
import { mergeKubeconfig } from '../../apps/cli/src/kubeconfig/kubeconfig.merge.js';
import { parseStrategy } from '../../apps/cli/src/upgrade/upgrade.request.js';
import { bodyFault } from '../../apps/gateway/src/http/text.js';
import { waitSecondsOf } from '../../apps/gateway/src/http/prefer.js';
import { pageRequest } from '../../apps/gateway/src/http/page.js';
import { parseBody } from '../../apps/gateway/src/http/validation.pipe.js';
import { isAnswerTo, titleIn } from '../../apps/infra-svc/src/adapters/aws/aws.exchange.js';
import { sentenceOf } from '../../apps/infra-svc/src/adapters/aws/aws.verdicts.js';
import { wordsIn } from '../../apps/infra-svc/src/adapters/openstack/openstack.session.js';
import { wordsIn as wordsOfController } from '../../apps/infra-svc/src/adapters/power/redfish.controller.js';
import { KubeconfigMemory } from '../../apps/node-agent/src/adapters/kubernetes/kubeconfig.js';
import { kubeletSettingsIn } from '../../apps/node-agent/src/software/kubelet.settings.js';
import { readStatedFact } from '../../apps/upgrade-svc/src/agents/fact.rules.js';
import { kubeadmConfigOf } from '../../apps/upgrade-svc/src/preflight/component.settings.js';
import { etcdFactsOf, snapshotStatusOf } from '../../apps/upgrade-svc/src/etcd/etcd.answers.js';
import { LastHeartbeat } from '../../apps/upgrade-svc/src/health/last.heartbeat.js';
import { parseMessage } from '../../libs/event-sourcing/src/jetstream/message.text.js';
import { failingIn } from '../../libs/kubernetes/src/cluster/client-node.cluster.js';
import { DEPRECATED_METRIC, deprecatedApisIn } from '../../libs/kubernetes/src/cluster/deprecated.metrics.js';
import { fieldsOfKubeconfig } from '../../libs/kubernetes/src/kubeconfig.document.js';
import { parseResult } from '../../libs/node-scripts/src/shell/result.js';

type Shapes = Readonly<Record<string, WorstText>>;

/** A place where untrusted text enters, and a function that processes it like that place. */
export interface Entrance {
  /** The file that parses it. */
  readonly file: string;
  readonly what: string;
  readonly shapes: Shapes;
  /** Maximum characters accepted there. */
  readonly lengthMax: number;
  readonly feed: (text: string) => unknown;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;
const JSON_AND_LINES: Shapes = { ...WORST_JSON, ...WORST_LINES };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A body of the REST API, as parsed by Express. */
const body = (text: string): unknown => JSON.parse(text);

const CALL = { hook: { name: 'h', points: [], url: '' }, point: 'beforeNodeReboot', attempt: 1 } as unknown as HookCall;
const PATIENCE = { now: '2026-11-28T12:00:00.000Z', againAfterMs: 1_000 };
const SUBJECT = 'agent.in.fact.default.demo.node-1.NodeReady';

export const ENTRANCES: readonly Entrance[] = [
  // The largest ones. All have the same parser, and request.bounds.unit.spec.ts bounds every field of all.
  ...[UpgradeRequest, ClusterRequest, ClusterManifest].map((schema, index): Entrance => ({
    file: 'apps/gateway/src/http/body.ts',
    what: `a body of the REST API: ${['an upgrade', 'a cluster', 'a manifest'][index]}`,
    shapes: WORST_JSON,
    lengthMax: 256 * KIB,
    feed: (text) => bodyFault(body(text)) ?? parseBody(schema, body(text)),
  })),
  {
    file: 'apps/gateway/src/http/prefer.ts',
    what: 'the header Prefer',
    shapes: {
      ...WORST_LINES,
      parameters: (length) => `wait=1${';  '.repeat((length - 7) / 3)}"`,
      commas: (length) => `${','.repeat(length - 1)}"`,
    },
    lengthMax: 500,
    feed: waitSecondsOf,
  },
  {
    file: 'apps/infra-svc/src/adapters/openstack/openstack.session.ts',
    what: 'a refusal of OpenStack, or the page of a proxy in front of it',
    shapes: { ...WORST_JSON, tags: (length) => '<title>a'.repeat(length / 8) },
    lengthMax: 16 * MIB,
    feed: wordsIn,
  },
  {
    file: 'apps/infra-svc/src/adapters/power/redfish.controller.ts',
    what: 'a refusal of a management controller',
    shapes: WORST_JSON,
    lengthMax: MIB,
    feed: wordsOfController,
  },
  {
    file: 'apps/infra-svc/src/adapters/aws/aws.exchange.ts',
    what: 'an answer of AWS, or the page of a proxy in front of it',
    shapes: { tags: (length) => '<title>a'.repeat(length / 8), spaces: (length) => ' '.repeat(length) },
    lengthMax: 16 * MIB,
    feed: (text) => [isAnswerTo('DescribeInstances', 502, text), titleIn(text)],
  },
  {
    file: 'apps/infra-svc/src/adapters/aws/aws.verdicts.ts',
    what: 'the words of an error of AWS',
    shapes: {
      prefix: (length) => 'Encoded authorization failure message: '.repeat(length / 39),
      spaces: (length) => ' '.repeat(length),
    },
    lengthMax: 16 * MIB,
    feed: (text) => sentenceOf({ code: 'X', status: 400, words: text, service: 'EC2', action: 'RunInstances' }),
  },
  {
    file: 'apps/gateway/src/http/page.ts',
    what: 'a token of a page',
    shapes: WORST_JSON,
    lengthMax: KIB,
    feed: (text) => pageRequest('nodes', { continue: Buffer.from(text).toString('base64url') }, false),
  },
  {
    file: 'libs/contracts/src/gate.jobs.ts',
    what: 'the Job of a gate',
    shapes: WORST_YAML,
    lengthMax: GATE_MANIFEST_LENGTH_MAX,
    feed: gateJobOf,
  },
  {
    file: 'libs/contracts/src/manifest/etcd.backups.ts',
    what: 'the schedule of snapshots of etcd',
    shapes: { ...WORST_LINES, lists: (length) => `${'*/1,'.repeat(length / 4)}1 * * * *`.slice(-length) },
    lengthMax: 100,
    feed: (schedule) => nextRunAfter({ schedule }, '2026-11-28T12:00:00.000Z'),
  },
  {
    file: 'apps/gateway/src/applications/applications.commands.ts',
    what: 'a range of versions of a chart',
    shapes: {
      ...WORST_LINES,
      alternatives: (length) => '1||'.repeat(length / 3),
      blanks: (length) => `>${' '.repeat(length - 2)}1`,
    },
    lengthMax: 200,
    feed: (range) => validRange(range),
  },
  {
    file: 'libs/domain/src/hook.answers.ts',
    what: 'the answer of a hook',
    shapes: JSON_AND_LINES,
    lengthMax: 64 * KIB,
    feed: (text) => hookOutcomeOf(CALL, { kind: 'answered', status: 200, body: text }, PATIENCE),
  },
  {
    file: 'libs/contracts/src/release.catalogue.ts',
    what: 'a signed catalogue of releases',
    shapes: WORST_JSON,
    lengthMax: RELEASE_CATALOGUE_LENGTH_MAX,
    feed: parseReleaseCatalogue,
  },
  {
    file: 'libs/contracts/src/mirror.ts',
    what: 'the catalogue of a mirror',
    shapes: WORST_JSON,
    lengthMax: 16 * MIB,
    feed: (text) => parseCatalogue(text, 'https://mirror.example'),
  },
  {
    file: 'libs/kubernetes/src/kubeconfig.document.ts',
    what: 'the kubeconfig of a host, or of a restored cluster',
    shapes: { ...WORST_JSON, ...WORST_YAML },
    lengthMax: 32 * KIB,
    feed: fieldsOfKubeconfig,
  },
  {
    file: 'libs/kubernetes/src/kubeconfig.certificates.ts',
    what: 'a certificate of a host',
    shapes: WORST_LINES,
    lengthMax: 32 * KIB,
    feed: (text) => new X509Certificate(`-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`),
  },
  {
    file: 'libs/kubernetes/src/cluster/deprecated.metrics.ts',
    what: 'the metrics of an API server',
    shapes: { ...WORST_LINES, 'quotes without an end': (length) => 'a="\\'.repeat(length / 4) },
    lengthMax: 4 * MIB,
    feed: (labels) => deprecatedApisIn([`${DEPRECATED_METRIC}${labels}} 1`]),
  },
  {
    file: 'libs/node-scripts/src/shell/result.ts',
    what: 'what a step prints over SSH',
    shapes: JSON_AND_LINES,
    lengthMax: 4 * MIB,
    feed: (text) => parseResult(`FAIRLEAD-RESULT ${text}`),
  },
  {
    file: 'libs/event-sourcing/src/jetstream/message.text.ts',
    what: 'a message of the log',
    shapes: WORST_JSON,
    lengthMax: MIB,
    feed: (text) => parseMessage(bytes(text)),
  },
  {
    file: 'apps/upgrade-svc/src/agents/fact.rules.ts',
    what: 'a fact of an agent',
    shapes: WORST_JSON,
    lengthMax: AGENT_MESSAGE_MAX_BYTES,
    feed: (text) => readStatedFact(SUBJECT, bytes(text)),
  },
  {
    file: 'apps/upgrade-svc/src/health/last.heartbeat.ts',
    what: 'a heartbeat of an agent',
    shapes: WORST_JSON,
    lengthMax: 16 * KIB,
    feed: (text) => {
      const last = new LastHeartbeat();
      last.keep(bytes(text));
      return [last.node, last.read(0)];
    },
  },
  {
    file: 'libs/kubernetes/src/cluster/client-node.cluster.ts',
    what: 'why an API server is not healthy',
    shapes: { ...JSON_AND_LINES, checks: (length) => '[-]etcd failed: reason withheld\n'.repeat(length / 32) },
    lengthMax: 64 * KIB,
    feed: (text) => failingIn({ status: 500, text }),
  },
  {
    file: 'apps/upgrade-svc/src/etcd/etcd.answers.ts',
    what: 'what etcdctl prints',
    shapes: JSON_AND_LINES,
    lengthMax: 4 * MIB,
    feed: (text) => etcdFactsOf({ memberList: text, endpointStatus: text, endpointHealth: text, alarmList: text }, []),
  },
  {
    file: 'apps/upgrade-svc/src/etcd/etcd.answers.ts',
    what: 'what etcdutl prints of a snapshot',
    shapes: JSON_AND_LINES,
    lengthMax: 4 * MIB,
    feed: snapshotStatusOf,
  },
  {
    file: 'apps/node-agent/src/adapters/kubernetes/kubeconfig.ts',
    what: 'the kubeconfig of the kubelet',
    shapes: WORST_YAML,
    lengthMax: 64 * KIB,
    feed: (text) => new KubeconfigMemory().currentIn(text),
  },
  {
    file: 'apps/node-agent/src/software/kubelet.settings.ts',
    what: 'files that set something for the kubelet',
    shapes: { ...WORST_YAML, ...WORST_LINES },
    lengthMax: 256 * KIB,
    feed: (text) => kubeletSettingsIn({ extraArgs: undefined, patch: undefined, config: text }),
  },
  {
    file: 'libs/kubernetes/src/kubeadm.ts',
    what: 'kubeadm-config, as a snapshot of etcd had it',
    shapes: WORST_YAML,
    lengthMax: 256 * KIB,
    feed: (text) =>
      kubeadmManifests(
        { version: 'v1.35.4', coredns: 'v1.13.1' },
        { clusterConfiguration: text, kubeProxy: true, coreDns: true },
      ),
  },
  {
    file: 'apps/upgrade-svc/src/preflight/component.settings.ts',
    what: 'the configuration of components in kube-system',
    shapes: WORST_YAML,
    lengthMax: 256 * KIB,
    feed: kubeadmConfigOf,
  },
  {
    file: 'libs/parsers/src/kubelet.ts',
    what: 'a configuration of the kubelet',
    shapes: WORST_YAML,
    lengthMax: 256 * KIB,
    feed: (text) => parseKubeletConfiguration(text, { lengthMax: 256 * KIB }),
  },
  {
    file: 'libs/parsers/src/kubeadm.refusal.ts',
    what: 'what kubeadm says when it refuses',
    shapes: {
      ...WORST_LINES,
      'many checks': (length) => '\t[ERROR Check]: words\n'.repeat(length / 22),
      'one long check': (length) => `\t[ERROR Check]: ${'words\n'.repeat(length / 6)}`,
    },
    lengthMax: 16 * KIB,
    feed: (text) => parseKubeadmRefusal(text, { lengthMax: 16 * KIB }),
  },
  {
    file: 'apps/cli/src/document/manifest.document.ts',
    what: 'a file of manifests',
    shapes: WORST_YAML,
    lengthMax: 4 * MIB,
    feed: (text) => parseManifests(text, 'file'),
  },
  {
    file: 'apps/cli/src/cluster/cluster.request.ts',
    what: 'a file with a cluster request',
    shapes: WORST_YAML,
    lengthMax: 4 * MIB,
    feed: (text) => parseClusterDocument(text, 'file'),
  },
  {
    file: 'apps/cli/src/upgrade/upgrade.request.ts',
    what: 'a file with a strategy',
    shapes: WORST_YAML,
    lengthMax: 4 * MIB,
    feed: (text) => parseStrategy(text, 'file'),
  },
  {
    file: 'apps/cli/src/kubeconfig/kubeconfig.merge.ts',
    what: 'a kubeconfig that another is merged into',
    shapes: WORST_YAML,
    lengthMax: 4 * MIB,
    feed: (text) => mergeKubeconfig(text, '', 'demo'),
  },
  {
    file: 'apps/cli/src/handover/handover.file.ts',
    what: 'a line of a handover',
    shapes: WORST_JSON,
    lengthMax: 2 * MIB,
    feed: parseLine,
  },
];

/** Text that goes straight to a bounded parser and from there to a schema, or is covered by a separate spec. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  'apps/cli/src/lab/lab.effects.ts': 'parseJson of at most 4 MiB, by a person who waits',
  'apps/bootstrap-svc/src/adapters/helm/helm.program.ts': 'parseJson of at most 32 MiB and 500,000 values',
  'libs/service-kit/src/charts/chart.index.ts': 'in a worker: helm.repository.int.spec.ts',
  'libs/service-kit/src/charts/oci.charts.ts': 'parseJson of at most 1 MiB: chart.registry.int.spec.ts',
  'libs/kubernetes/src/known.resources.ts': 'parseJson of at most 4 MiB, of objects that were applied',
  'apps/bootstrap-svc/src/releases/inventory.ts': 'parseJson of at most 256 KiB',
  'apps/cli/src/addon/values.file.ts': 'parseYaml with the limits of other files of the CLI',
  'apps/infra-svc/src/adapters/helm/helm.archive.ts':
    'parseJson and parseYaml of at most 128 KiB; archives: helm.repository.int.spec.ts',
  'apps/infra-svc/src/adapters/keycloak/keycloak.client.ts': 'parseJson of at most 1 MiB',
  'apps/tunnel/src/adapters/nats/nats.names.ts': 'parseJson of at most 65,536 characters',
  'apps/tunnel/src/sign-in/sealed.cookies.ts': 'parseJson of at most 4,000 characters that it has sealed itself',
  'apps/tunnel/src/adapters/tls/certificates.ts': 'certificates of the administrator',
  'apps/tunnel/src/adapters/ssh/ssh.sessions.ts': 'a public key that is reserved already, in an SSH packet',
  'apps/infra-svc/src/adapters/tunnel/nats.tunnel.names.ts': 'parseJson of at most 65,536 characters',
  'apps/infra-svc/src/adapters/lab/lab.client.ts': 'parseJson of at most 16 MiB',
  'apps/infra-svc/src/adapters/ssh-keys/openssh.keys.ts': 'a private key of an administrator, at most 64 KiB',
  'apps/infra-svc/src/catalogue/catalogue.planner.ts': 'a range that the gateway has checked',
  'apps/gateway/src/limits/monitor.client.ts': 'parseJson of at most 1 MiB',
  'apps/gateway/src/executions/executions.ts': 'parseJson of at most 16 MiB that bootstrap-svc has sealed',
  'apps/gateway/src/applications/applications.queries.ts': 'parseJson of at most 128 KiB that infra-svc has checked',
  'apps/gateway/src/auth/issuer.client.ts': 'tokens of at most 12,288 characters, whose signature is checked first',
  'apps/gateway/src/autoscaler/autoscaler.server.ts': 'messages of at most 4 MiB, after a client certificate',
  'apps/gateway/src/autoscaler/autoscaler.access.ts': 'the certificate of a TLS connection, which Node.js has parsed',
  'libs/parsers/src/certificates.ts': 'X509Certificate of at most 16 KiB',
  'apps/bootstrap-svc/src/adapters/nats/host.channels.ts': 'parseJson of at most 64 KiB',
  'apps/bootstrap-svc/src/hosts/agent.credentials.effects.ts': 'parseJson of at most 64 KiB',
  'apps/bootstrap-svc/src/upstream.files.ts': 'files of this repository',
  'apps/upgrade-svc/src/agents/state.effects.ts': 'parseJson of at most the size of a fact',
  'apps/node-agent/src/adapters/kubernetes/node.watch.ts': 'parseJson of at most 4 MiB',
  'apps/node-agent/src/host/host.join.ts': 'parseJson of at most 256 KiB, of the gateway',
  'apps/node-agent/src/certificates/certificates.ts': 'certificates of its own host',
  'apps/node-agent/src/software/cni.item.ts': 'parseJson of at most 64 KiB of its own host',
  'apps/cli/src/api/api.failures.ts': 'parseJson of at most 1 MiB',
  'apps/cli/src/api/issuer.effects.ts': 'parseJson of at most 64 KiB, of a token that the issuer has granted',
  'apps/cli/src/connection/connection.commands.ts': 'parseYaml with the limits of other files of the CLI',
  'apps/cli/src/handover/handover.file.store.ts':
    'lines with the limits of parseLine; what they unpack to is read line by line',
  'apps/web/src/audit/audit.view.tsx': 'parseJson of at most 64 MiB that the reader chose, in the browser',
  'apps/lab/src/': 'a simulation: parseYaml and parseJson of at most 3 MiB',
  'libs/api-client/src/events.ts': 'parseJson of at most 2 MiB, of the gateway',
  'libs/api-client/src/logs.ts': 'parseJson of at most 2 MiB, of the gateway',
  'libs/api-client/src/messages.ts': 'parseJson of at most 1 MiB, of the gateway',
  'libs/embedded/src/credentials/authority.store.ts': 'files of the data folder',
  'libs/embedded/src/credentials/claims.ts': 'parseJson, of claims that NATS has accepted',
  'libs/kubernetes/src/cluster/eviction.ts': 'parseJson of at most 64 KiB',
  'libs/kubernetes/src/kubernetes.client.ts': 'pages of API servers, with specs of their own',
  'libs/mirror/src/bundle.ts': 'archives whose SHA-256 or signature is known, read as a stream',
  'libs/parsers/src/': 'the parsers',
  'libs/testing/src/': 'for specs only',
};
