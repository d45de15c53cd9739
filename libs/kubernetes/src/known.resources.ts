import {
  ApiException,
  HttpMethod,
  KubernetesObjectApi,
  PatchStrategy,
  type Configuration,
  type KubernetesObject,
  type V1APIResource,
} from '@kubernetes/client-node';

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

/** What is applied, whatever else is in it. */
interface Applied {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The library's generic object API; it asks for the paths of those kinds only that are not known. */
export class ObjectApi extends KubernetesObjectApi {
  /**
   * Server-side apply of a manifest as it is. The library's own `patch` sends models of its own, which call some fields otherwise than the API
   * (`x_kubernetes_int_or_string`), and makes such models of the answer, which are not used.
   */
  async apply(manifest: Applied, fieldManager: string): Promise<void> {
    const { baseServer, authMethods, httpApi } = this.configuration;
    const object: KubernetesObject = { ...manifest, metadata: { ...manifest.metadata } };
    const context = baseServer.makeRequestContext(await this.specUriPath(object, 'patch'), HttpMethod.PATCH);
    context.setHeaderParam('Accept', 'application/json');
    context.setHeaderParam('Content-Type', PatchStrategy.ServerSideApply);
    context.setQueryParam('fieldManager', fieldManager);
    context.setQueryParam('force', 'true');
    context.setBody(JSON.stringify(object));
    await authMethods.default?.applySecurityAuthentication(context);
    const response = await httpApi.send(context).toPromise();
    if (response.httpStatusCode >= 200 && response.httpStatusCode <= 299) return;
    throw new ApiException(response.httpStatusCode, 'not applied', await response.body.text(), response.headers);
  }

  protected override async resource(
    apiVersion: string,
    kind: string,
    options?: Configuration,
  ): Promise<V1APIResource | undefined> {
    return KNOWN[apiVersion]?.get(kind) ?? super.resource(apiVersion, kind, options);
  }
}
