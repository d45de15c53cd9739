import { WorldFailure } from '@fairlead/contracts';
import { statusOf, type KubernetesClient } from '../kubernetes.client.js';
import type { V1Job } from '@kubernetes/client-node';
import type {
  BudgetView,
  ClusterApi,
  CordonOptions,
  DeprecatedApiView,
  EvictionAnswer,
  JobState,
  LeaseView,
  Manifest,
  NodeMetadataChange,
  NodeView,
  PodIdentity,
  PodView,
  Program,
  ProgramEnd,
  SigningRequest,
  WebhookView,
  WorkloadView,
} from '../cluster.ports.js';
import { applyAll } from './apply.js';
import { signClientCertificate } from './client.certificates.js';
import { deprecatedApisIn } from './deprecated.metrics.js';
import { evictPod } from './eviction.js';
import { freeDiskIn } from './kubelet.figures.js';
import { cordonNode, setTaint, uncordonNode } from './node.cordon.js';
import { setNodeMetadata } from './node.metadata.js';
import { releaseOutside } from './outside.resources.js';
import { daemonSetView, deploymentView, nodeView, podView, selects } from './views.js';
import { webhookView } from './webhooks.js';

const KUBE_SYSTEM = 'kube-system';
const API_PORT = 6443;
const ALREADY_THERE = 409;
/** An API server of a large cluster has tens of megabytes of metrics. */
const METRICS_BYTES_MAX = 64 * 1024 * 1024;

/** What a health path's answer finds wrong. */
export const failingIn = ({ status, text }: { readonly status: number; readonly text: string }): readonly string[] => {
  if (status === 200) return [];
  const failing = [...text.matchAll(/^\[-\](\S+)/gm)].map(([, check]) => check ?? '');
  return failing.length > 0 ? failing : [`the whole (HTTP ${status}: ${text.slice(0, 300).trim()})`];
};

/** One cluster's API by @kubernetes/client-node. */
export class ClientNodeCluster implements ClusterApi {
  constructor(private readonly client: KubernetesClient) {}

  async failingChecks(): Promise<readonly string[]> {
    return failingIn(await this.client.call('read /readyz', () => this.client.get('/readyz?verbose')));
  }

  async failingChecksOn(controlPlane: string): Promise<readonly string[]> {
    const pod = `https:kube-apiserver-${controlPlane}:${API_PORT}`;
    const path = `/api/v1/namespaces/${KUBE_SYSTEM}/pods/${pod}/proxy/readyz?verbose`;
    return failingIn(await this.client.call(`read /readyz of ${controlPlane}`, () => this.client.get(path)));
  }

  async nodes(): Promise<readonly NodeView[]> {
    return (await this.client.listAll('list nodes', (at) => this.client.core.listNode(at))).map(nodeView);
  }

  async node(name: string): Promise<NodeView | undefined> {
    const node = await this.client.find(`read node ${name}`, () => this.client.core.readNode({ name }));
    return node === undefined ? undefined : nodeView(node);
  }

  async pods(): Promise<readonly PodView[]> {
    const pods = await this.client.listAll('list pods', (at) => this.client.core.listPodForAllNamespaces(at));
    return pods.map(podView);
  }

  async podsOn(node: string): Promise<readonly PodView[]> {
    const fieldSelector = `spec.nodeName=${node}`;
    const pods = await this.client.listAll(`list pods on ${node}`, (at) =>
      this.client.core.listPodForAllNamespaces({ ...at, fieldSelector }),
    );
    return pods.map(podView);
  }

  async staticPods(): Promise<readonly PodView[]> {
    const pods = await this.client.listAll('list static pods', (at) =>
      this.client.core.listNamespacedPod({ ...at, namespace: KUBE_SYSTEM, labelSelector: 'tier=control-plane' }),
    );
    return pods.map(podView).filter(({ mirror }) => mirror);
  }

  async apiServerAddresses(): Promise<readonly string[]> {
    const slices = await this.client.listAll('list API servers', (at) =>
      this.client.discovery.listNamespacedEndpointSlice({
        ...at,
        namespace: 'default',
        labelSelector: 'kubernetes.io/service-name=kubernetes',
      }),
    );
    return slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses));
  }

  async budgets(): Promise<readonly BudgetView[]> {
    const items = await this.client.listAll('list disruption budgets', (at) =>
      this.client.policy.listPodDisruptionBudgetForAllNamespaces(at),
    );
    return items.map(({ metadata, spec, status }) => ({
      namespace: metadata?.namespace ?? '',
      name: metadata?.name ?? '',
      disruptionsAllowed: status?.disruptionsAllowed ?? 0,
      covers: ({ namespace, labels }) =>
        namespace === metadata?.namespace && spec?.selector !== undefined && selects(spec.selector, labels),
    }));
  }

  async webhooks(): Promise<readonly WebhookView[]> {
    const { admission } = this.client;
    const [validating, mutating] = await Promise.all([
      this.client.listAll('list validating webhooks', (at) => admission.listValidatingWebhookConfiguration(at)),
      this.client.listAll('list mutating webhooks', (at) => admission.listMutatingWebhookConfiguration(at)),
    ]);
    return [...validating, ...mutating].flatMap(({ metadata, webhooks }) =>
      (webhooks ?? []).map((webhook) => webhookView(metadata?.name ?? '', webhook)),
    );
  }

  async workloads(namespace: string): Promise<readonly WorkloadView[]> {
    const { apps } = this.client;
    const [daemonSets, deployments] = await Promise.all([
      this.client.listAll('list DaemonSets', (at) => apps.listNamespacedDaemonSet({ ...at, namespace })),
      this.client.listAll('list Deployments', (at) => apps.listNamespacedDeployment({ ...at, namespace })),
    ]);
    return [...daemonSets.map(daemonSetView), ...deployments.map(deploymentView)];
  }

  async workload(kind: WorkloadView['kind'], namespace: string, name: string): Promise<WorkloadView | undefined> {
    const { apps } = this.client;
    return this.client.find(`read ${kind} ${name}`, async () =>
      kind === 'Deployment'
        ? deploymentView(await apps.readNamespacedDeployment({ namespace, name }))
        : daemonSetView(await apps.readNamespacedDaemonSet({ namespace, name })),
    );
  }

  async lease(name: string): Promise<LeaseView | undefined> {
    const lease = await this.client.find(`read lease ${name}`, () =>
      this.client.coordination.readNamespacedLease({ name, namespace: KUBE_SYSTEM }),
    );
    const { holderIdentity = '', renewTime } = lease?.spec ?? {};
    // The library's type says a kind of Date, and it returns the text. A lease without a holder has none.
    return renewTime === undefined
      ? undefined
      : { name, holder: holderIdentity, renewedAt: new Date(renewTime as Date | string).toISOString() };
  }

  async deprecatedApis(): Promise<readonly DeprecatedApiView[]> {
    const answer = await this.client.call('read /metrics', () => this.client.get('/metrics', METRICS_BYTES_MAX));
    if (answer.status === 200) return deprecatedApisIn(answer.text);
    const message = `HTTP ${answer.status}: ${answer.text.slice(0, 300)}`;
    throw new WorldFailure({ operation: 'read /metrics', target: 'the API server', message });
  }

  async freeDisk(node: string): Promise<number> {
    const operation = `read the figures of ${node}`;
    const path = `/api/v1/nodes/${node}/proxy/stats/summary?only_cpu_and_memory=false`;
    const { status, text } = await this.client.call(operation, () => this.client.get(path, METRICS_BYTES_MAX));
    const failed = (message: string): WorldFailure => new WorldFailure({ operation, target: node, message });
    if (status !== 200) throw failed(`HTTP ${status}: ${text.slice(0, 300)}`);
    const free = freeDiskIn(text);
    if (free === undefined) throw failed('its kubelet says nothing of its disks');
    return free;
  }

  async attachedVolumes(node: string): Promise<readonly string[]> {
    const attachments = await this.client.listAll('list volume attachments', (at) =>
      this.client.storage.listVolumeAttachment(at),
    );
    return attachments
      .filter(({ spec }) => spec.nodeName === node)
      .flatMap(({ spec }) => spec.source.persistentVolumeName ?? []);
  }

  async volumeOf(namespace: string, name: string): Promise<string | undefined> {
    const claim = await this.client.find(`read claim ${namespace}/${name}`, () =>
      this.client.core.readNamespacedPersistentVolumeClaim({ namespace, name }),
    );
    return claim?.spec?.volumeName;
  }

  run(program: Program): Promise<ProgramEnd> {
    return this.client.exec(program);
  }

  async label(node: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.apply([{ apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels } }]);
  }

  setNodeMetadata(node: string, change: NodeMetadataChange): Promise<boolean> {
    return setNodeMetadata(this.client, node, change);
  }

  cordon(node: string, mark: string, options: CordonOptions = {}): Promise<boolean | undefined> {
    return cordonNode(this.client, node, { mark, ...options });
  }

  uncordon(node: string, mark: string): Promise<void> {
    return uncordonNode(this.client, node, mark);
  }

  async taint(nodes: readonly string[], key: string): Promise<readonly string[]> {
    const tainted: string[] = [];
    for (const node of nodes) if (await setTaint(this.client, node, { key, present: true })) tainted.push(node);
    return tainted;
  }

  async untaint(nodes: readonly string[], key: string): Promise<void> {
    for (const node of nodes) await setTaint(this.client, node, { key, present: false });
  }

  evict(pod: PodIdentity): Promise<EvictionAnswer> {
    return evictPod(this.client, pod);
  }

  async deletePod({ namespace, name, uid }: PodIdentity): Promise<void> {
    await this.client.find(`delete pod ${namespace}/${name}`, () =>
      this.client.core
        .deleteNamespacedPod({ namespace, name, body: { preconditions: { uid } } })
        .catch((error: unknown) => {
          // The pod that was meant is gone; another one has its name.
          if (statusOf(error) === ALREADY_THERE) return undefined;
          throw error;
        }),
    );
  }

  async deleteNode(node: string): Promise<void> {
    await this.client.find(`delete node ${node}`, () => this.client.core.deleteNode({ name: node }));
  }

  releaseOutside(): Promise<readonly string[]> {
    return releaseOutside(this.client);
  }

  async job(namespace: string, name: string): Promise<JobState> {
    const job = await this.client.find(`read job ${namespace}/${name}`, () =>
      this.client.batch.readNamespacedJob({ namespace, name }),
    );
    if (job === undefined) return 'absent';
    const holds = (desired: string): boolean =>
      job.status?.conditions?.some(({ type, status }) => type === desired && status === 'True') ?? false;
    return holds('Complete') ? 'succeeded' : holds('Failed') ? 'failed' : 'running';
  }

  async createJob(manifest: Manifest): Promise<void> {
    const { name, namespace = 'default' } = manifest.metadata;
    await this.client.call(`create job ${namespace}/${name}`, () =>
      this.client.batch
        .createNamespacedJob({ namespace, body: manifest as unknown as V1Job })
        .catch((error: unknown) => {
          if (statusOf(error) !== ALREADY_THERE) throw error;
        }),
    );
  }

  async deleteJob(namespace: string, name: string): Promise<void> {
    await this.client.find(`delete job ${namespace}/${name}`, () =>
      this.client.batch.deleteNamespacedJob({ namespace, name, propagationPolicy: 'Background' }),
    );
  }

  signClientCertificate(request: SigningRequest, signal: AbortSignal): Promise<string> {
    return signClientCertificate(this.client, request, signal);
  }

  apply(manifests: readonly Manifest[]): Promise<void> {
    return applyAll(this.client, manifests);
  }
}
