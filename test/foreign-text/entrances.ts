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
import { WORST_JSON, WORST_LINES, WORST_YAML } from '@fairlead/testing/worst.texts';
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
import { bytes, KIB, MIB, type Entrance, type Shapes } from './entrance.js';
import { SMALL_ENTRANCES } from './small.entrances.js';

const JSON_AND_LINES: Shapes = { ...WORST_JSON, ...WORST_LINES };

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
  ...SMALL_ENTRANCES,
];
