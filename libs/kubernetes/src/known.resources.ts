import { KubernetesObjectApi, type Configuration, type V1APIResource } from '@kubernetes/client-node';

const known = (kind: string, name: string, namespaced: boolean): readonly [string, V1APIResource] => [
  kind,
  { kind, name, namespaced, singularName: kind.toLowerCase(), verbs: ['get', 'patch'] },
];

/** Resources whose paths are the same in every cluster that we build: the API need not be asked about them each time. */
const KNOWN: Readonly<Record<string, ReadonlyMap<string, V1APIResource>>> = {
  v1: new Map([
    known('Namespace', 'namespaces', false),
    known('Node', 'nodes', false),
    known('ServiceAccount', 'serviceaccounts', true),
    known('ConfigMap', 'configmaps', true),
    known('Service', 'services', true),
  ]),
  'apps/v1': new Map([known('DaemonSet', 'daemonsets', true), known('Deployment', 'deployments', true)]),
  'rbac.authorization.k8s.io/v1': new Map([
    known('ClusterRole', 'clusterroles', false),
    known('ClusterRoleBinding', 'clusterrolebindings', false),
    known('Role', 'roles', true),
    known('RoleBinding', 'rolebindings', true),
  ]),
  'apiextensions.k8s.io/v1': new Map([known('CustomResourceDefinition', 'customresourcedefinitions', false)]),
  'storage.k8s.io/v1': new Map([known('StorageClass', 'storageclasses', false)]),
};

/** The library's generic object API; it asks for the paths of those kinds only that are not known. */
export class ObjectApi extends KubernetesObjectApi {
  protected override async resource(
    apiVersion: string,
    kind: string,
    options?: Configuration,
  ): Promise<V1APIResource | undefined> {
    return KNOWN[apiVersion]?.get(kind) ?? super.resource(apiVersion, kind, options);
  }
}
