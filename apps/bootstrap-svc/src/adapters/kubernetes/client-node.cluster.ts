import type { KubernetesClient } from '@fairlead/kubernetes';
import { PatchStrategy, type KubernetesObject, type V1Node, type V1Pod } from '@kubernetes/client-node';
import type {
  Evicted,
  KubernetesCluster,
  Manifest,
  NodeView,
  StaticPodView,
  WorkloadView,
} from '../../kubernetes/kubernetes.ports.js';
import { drainNode } from './node.drain.js';

const FIELD_MANAGER = 'fairlead';
const KUBE_SYSTEM = 'kube-system';

const nodeView = (node: V1Node): NodeView => {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name: node.metadata?.name ?? '',
    ready: ready?.status === 'True',
    message: ready?.message ?? 'Kubernetes has no word of its readiness',
    kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
    unschedulable: node.spec?.unschedulable === true,
  };
};

const staticPodView = (pod: V1Pod): StaticPodView => ({
  node: pod.spec?.nodeName ?? '',
  component: pod.metadata?.labels?.['component'] ?? '',
  ready: pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false,
});

const versionOfImage = (image: string | undefined): string => /:([\w][\w.-]*)(@|$)/.exec(image ?? '')?.[1] ?? 'unknown';

/** One cluster's API by @kubernetes/client-node. */
export class ClientNodeCluster implements KubernetesCluster {
  constructor(private readonly client: KubernetesClient) {}

  async failingChecks(): Promise<readonly string[]> {
    const { status, text } = await this.client.call('read /readyz', () => this.client.get('/readyz?verbose'));
    if (status === 200) return [];
    const failing = [...text.matchAll(/^\[-\](\S+)/gm)].map(([, check]) => check ?? '');
    return failing.length > 0 ? failing : [`the whole (HTTP ${status})`];
  }

  async nodes(): Promise<readonly NodeView[]> {
    const { items } = await this.client.call('list nodes', () => this.client.core.listNode());
    return items.map(nodeView);
  }

  async staticPods(): Promise<readonly StaticPodView[]> {
    const { items } = await this.client.call('list static pods', () =>
      this.client.core.listNamespacedPod({ namespace: KUBE_SYSTEM, labelSelector: 'tier=control-plane' }),
    );
    return items.map(staticPodView);
  }

  async apiServerAddresses(): Promise<readonly string[]> {
    const { items } = await this.client.call('list API servers', () =>
      this.client.discovery.listNamespacedEndpointSlice({
        namespace: 'default',
        labelSelector: 'kubernetes.io/service-name=kubernetes',
      }),
    );
    return items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses));
  }

  async apply(manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) {
      await this.client.call(`apply ${manifest.kind} ${manifest.metadata.name}`, () => this.applyOne(manifest));
    }
  }

  async label(node: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.apply([{ apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels } }]);
  }

  async workload(kind: WorkloadView['kind'], namespace: string, name: string): Promise<WorkloadView | undefined> {
    return this.client.find(`read ${kind} ${name}`, async () => {
      const { spec, pods } =
        kind === 'Deployment' ? await this.deployment(namespace, name) : await this.daemonSet(namespace, name);
      return { kind, name, version: versionOfImage(spec?.template.spec?.containers[0]?.image), ...pods };
    });
  }

  private async deployment(namespace: string, name: string) {
    const { spec, status } = await this.client.apps.readNamespacedDeployment({ namespace, name });
    return { spec, pods: { wantedPods: spec?.replicas ?? 1, readyPods: status?.availableReplicas ?? 0 } };
  }

  private async daemonSet(namespace: string, name: string) {
    const { spec, status } = await this.client.apps.readNamespacedDaemonSet({ namespace, name });
    return { spec, pods: { wantedPods: status?.desiredNumberScheduled ?? 0, readyPods: status?.numberReady ?? 0 } };
  }

  async cordon(node: string): Promise<boolean> {
    const patched = await this.client.find(`cordon ${node}`, () =>
      this.client.objects.patch(
        { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, spec: { unschedulable: true } } as KubernetesObject,
        undefined,
        undefined,
        FIELD_MANAGER,
        undefined,
        PatchStrategy.MergePatch,
      ),
    );
    return patched !== undefined;
  }

  drain(node: string, options: { readonly deadlineMs: number; readonly signal: AbortSignal }): Promise<Evicted> {
    return drainNode(this.client, node, options);
  }

  async deleteNode(node: string): Promise<void> {
    await this.client.find(`delete node ${node}`, () => this.client.core.deleteNode({ name: node }));
  }

  async releaseLoadBalancers(): Promise<number> {
    const { items } = await this.client.call('list services', () => this.client.core.listServiceForAllNamespaces());
    const holding = items.filter(({ spec }) => spec?.type === 'LoadBalancer');
    for (const { metadata } of holding) {
      const { name = '', namespace = '' } = metadata ?? {};
      await this.client.find(`delete service ${namespace}/${name}`, () =>
        this.client.core.deleteNamespacedService({ name, namespace }),
      );
    }
    return holding.length;
  }

  private applyOne(manifest: Manifest): Promise<KubernetesObject> {
    return this.client.objects.patch(
      manifest as unknown as KubernetesObject,
      undefined,
      undefined,
      FIELD_MANAGER,
      true,
      PatchStrategy.ServerSideApply,
    );
  }
}
