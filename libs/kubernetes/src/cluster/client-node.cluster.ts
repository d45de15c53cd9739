import { timeMsOf, ExternalFailure, PUBLISH_LABEL } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { statusOf, type KubernetesClient } from '../kubernetes.client.js';
import type {
  V1ConfigMap,
  V1DaemonSet,
  V1Deployment,
  V1EndpointSlice,
  V1Job,
  V1Lease,
  V1MutatingWebhookConfiguration,
  V1Node,
  V1PersistentVolumeClaim,
  V1Pod,
  V1Service,
  V1PodDisruptionBudget,
  V1ValidatingWebhookConfiguration,
  V1VolumeAttachment,
} from '@kubernetes/client-node';
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
  ServiceView,
  SigningRequest,
  WebhookView,
  TemplateView,
  WorkloadView,
} from '../cluster.ports.js';
import { textOf } from '../plain.object.js';
import { applyAll } from './apply.js';
import { signClientCertificate } from './client.certificates.js';
import { DEPRECATED_METRIC, deprecatedApisIn } from './deprecated.metrics.js';
import { evictPod } from './eviction.js';
import { freeDiskIn } from './kubelet.figures.js';
import { beginDrain, cordonNode, setTaint, uncordonNode } from './node.cordon.js';
import { setNodeMetadata } from './node.metadata.js';
import { deleteObjects, differences, placed } from './objects.js';
import { releaseOutside } from './outside.resources.js';
import { templateView } from './template.view.js';
import { budgetView, daemonSetView, deploymentView, nodeView, podView, serviceView } from './views.js';
import { webhookView } from './webhooks.js';

const KUBE_SYSTEM = 'kube-system';
const NODES = '/api/v1/nodes';
const PODS = '/api/v1/pods';
const APPS = '/apis/apps/v1/namespaces';
const WORKLOADS = {
  DaemonSet: { plural: 'daemonsets', view: daemonSetView },
  Deployment: { plural: 'deployments', view: deploymentView },
} as const;
const API_PORT = 6443;
const ALREADY_THERE = 409;
/** The metrics of a large cluster's API server take tens of megabytes. */
const METRICS_BYTES_MAX = 64 * 1024 * 1024;

/** kubeadm's own ones take a few KiB. */
const CONFIG_LENGTH_MAX = 256 * 1_024;

const CHECKS_MAX = 100;
const STATUS_LENGTH_MAX = 65_536;

/** The failing checks in the response of a health endpoint. */
export const failingIn = ({ status, text }: { readonly status: number; readonly text: string }): readonly string[] => {
  if (status === 200) return [];
  const failing = [...text.matchAll(/^\[-\](\S{1,200})/gm)].slice(0, CHECKS_MAX).map(([, check]) => check ?? '');
  return failing.length > 0 ? failing : [`HTTP ${status}: ${messageIn(text).slice(0, 300).trim()}`];
};

/** The message of a Status, as API servers answer when they cannot reach what they proxy; otherwise the text. */
const messageIn = (text: string): string => {
  const { message } = (parseJsonOrUndefined(text, { lengthMax: STATUS_LENGTH_MAX }) ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : text;
};

/** The API of one cluster by @kubernetes/client-node. */
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

  nodes(): Promise<readonly NodeView[]> {
    return this.client.listAll<V1Node, NodeView>({ operation: 'list nodes', path: NODES }, nodeView);
  }

  node(name: string): Promise<NodeView | undefined> {
    return this.client.read<V1Node, NodeView>(`read node ${name}`, `${NODES}/${encodeURIComponent(name)}`, nodeView);
  }

  publishedServices(): Promise<readonly ServiceView[]> {
    const labelSelector = `${PUBLISH_LABEL}=true`;
    return this.client.listAll<V1Service, ServiceView>(
      { operation: 'list published services', path: '/api/v1/services', labelSelector },
      serviceView,
    );
  }

  pods(): Promise<readonly PodView[]> {
    return this.client.listAll<V1Pod, PodView>({ operation: 'list pods', path: PODS }, podView);
  }

  podsOn(node: string): Promise<readonly PodView[]> {
    const fieldSelector = `spec.nodeName=${node}`;
    return this.client.listAll<V1Pod, PodView>(
      { operation: `list pods on ${node}`, path: PODS, fieldSelector },
      podView,
    );
  }

  staticPods(): Promise<readonly PodView[]> {
    const path = `/api/v1/namespaces/${KUBE_SYSTEM}/pods`;
    const labelSelector = 'tier=control-plane';
    return this.client.listAll<V1Pod, PodView>({ operation: 'list static pods', path, labelSelector }, (pod) => {
      const view = podView(pod);
      return view.mirror ? view : undefined;
    });
  }

  async apiServerAddresses(): Promise<readonly string[]> {
    const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    const labelSelector = 'kubernetes.io/service-name=kubernetes';
    const slices = await this.client.listAll<V1EndpointSlice, readonly string[]>(
      { operation: 'list API servers', path, labelSelector },
      ({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses.map((address) => textOf(address))),
    );
    return slices.flat();
  }

  budgets(): Promise<readonly BudgetView[]> {
    const path = '/apis/policy/v1/poddisruptionbudgets';
    return this.client.listAll<V1PodDisruptionBudget, BudgetView>(
      { operation: 'list disruption budgets', path },
      budgetView,
    );
  }

  async webhooks(): Promise<readonly WebhookView[]> {
    const list = (kind: string, what: string): Promise<readonly (readonly WebhookView[])[]> =>
      this.client.listAll<V1ValidatingWebhookConfiguration | V1MutatingWebhookConfiguration, readonly WebhookView[]>(
        { operation: `list ${what} webhooks`, path: `/apis/admissionregistration.k8s.io/v1/${kind}` },
        ({ metadata, webhooks }) => (webhooks ?? []).map((webhook) => webhookView(metadata.name, webhook)),
      );
    const [validating, mutating] = await Promise.all([
      list('validatingwebhookconfigurations', 'validating'),
      list('mutatingwebhookconfigurations', 'mutating'),
    ]);
    return [...validating, ...mutating].flat();
  }

  async workloads(namespace: string): Promise<readonly WorkloadView[]> {
    const path = `${APPS}/${encodeURIComponent(namespace)}`;
    const [daemonSets, deployments] = await Promise.all([
      this.client.listAll<V1DaemonSet, WorkloadView>(
        { operation: 'list DaemonSets', path: `${path}/daemonsets` },
        daemonSetView,
      ),
      this.client.listAll<V1Deployment, WorkloadView>(
        { operation: 'list Deployments', path: `${path}/deployments` },
        deploymentView,
      ),
    ]);
    return [...daemonSets, ...deployments];
  }

  workload(kind: WorkloadView['kind'], namespace: string, name: string): Promise<WorkloadView | undefined> {
    const { plural, view } = WORKLOADS[kind];
    const path = `${APPS}/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
    return this.client.read(`read ${kind} ${name}`, path, view);
  }

  template(kind: WorkloadView['kind'], namespace: string, name: string): Promise<TemplateView | undefined> {
    const path = `${APPS}/${encodeURIComponent(namespace)}/${WORKLOADS[kind].plural}/${encodeURIComponent(name)}`;
    return this.client.read<V1DaemonSet | V1Deployment, TemplateView>(
      `read the template of ${kind} ${name}`,
      path,
      ({ spec }) => templateView(spec?.template),
    );
  }

  configMap(namespace: string, name: string): Promise<Readonly<Record<string, string>> | undefined> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
    return this.client.read<V1ConfigMap, Readonly<Record<string, string>>>(
      `read ConfigMap ${namespace}/${name}`,
      path,
      ({ data }) =>
        Object.fromEntries(Object.entries(data ?? {}).map(([key, text]) => [key, textOf(text, CONFIG_LENGTH_MAX)])),
    );
  }

  async lease(name: string): Promise<LeaseView | undefined> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${KUBE_SYSTEM}/leases/${encodeURIComponent(name)}`;
    // A lease without a holder has no time.
    const lease = await this.client.read<V1Lease, LeaseView | null>(`read lease ${name}`, path, ({ spec }) => {
      const renewedMs = timeMsOf(spec?.renewTime);
      if (renewedMs === undefined) return null;
      return { name, holder: textOf(spec?.holderIdentity), renewedAt: new Date(renewedMs).toISOString() };
    });
    return lease ?? undefined;
  }

  async deprecatedApis(): Promise<readonly DeprecatedApiView[]> {
    const operation = 'read /metrics';
    const { status, body } = await this.client.call(operation, () =>
      this.client.lines('/metrics', DEPRECATED_METRIC, METRICS_BYTES_MAX),
    );
    if (status === 200) return deprecatedApisIn(body);
    throw new ExternalFailure({ operation, target: 'the API server', message: `HTTP ${status}` });
  }

  async freeDisk(node: string): Promise<number> {
    const operation = `read the figures of ${node}`;
    const path = `/api/v1/nodes/${node}/proxy/stats/summary?only_cpu_and_memory=false`;
    const free = freeDiskIn(await this.client.call(operation, () => this.client.json(path)));
    if (free !== undefined) return free;
    throw new ExternalFailure({ operation, target: node, message: 'its kubelet says nothing of its disks' });
  }

  async attachedVolumes(node: string): Promise<readonly string[]> {
    const path = '/apis/storage.k8s.io/v1/volumeattachments';
    const attachments = await this.client.listAll<V1VolumeAttachment, { readonly volume: string }>(
      { operation: 'list volume attachments', path },
      ({ spec }) => {
        const volume = textOf(spec.source.persistentVolumeName);
        return spec.nodeName === node && volume !== '' ? { volume } : undefined;
      },
    );
    return attachments.map(({ volume }) => volume);
  }

  volumeOf(namespace: string, name: string): Promise<string | undefined> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(name)}`;
    return this.client.read<V1PersistentVolumeClaim, string | undefined>(
      `read claim ${namespace}/${name}`,
      path,
      ({ spec }) => textOf(spec?.volumeName) || undefined,
    );
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

  beginDrain(node: string, mark: string): Promise<number | undefined> {
    return beginDrain(this.client, node, mark);
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
          // The requested pod is gone; another one has its name.
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

  placed(manifests: readonly Manifest[], namespace: string): Promise<readonly Manifest[]> {
    return placed(this.client, manifests, namespace);
  }

  differences(manifests: readonly Manifest[]): Promise<readonly string[]> {
    return differences(this.client, manifests);
  }

  deleteObjects(manifests: readonly Manifest[]): Promise<void> {
    return deleteObjects(this.client, manifests);
  }

  apply(manifests: readonly Manifest[]): Promise<void> {
    return applyAll(this.client, manifests);
  }
}
