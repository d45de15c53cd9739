import { parseJson } from '@fairlead/parsers';
import {
  ApiException,
  HttpMethod,
  KubernetesObjectApi,
  PatchStrategy,
  type Configuration,
  type KubernetesObject,
  type RequestContext,
  type V1APIResource,
} from '@kubernetes/client-node';

const known = (kind: string, name: string, namespaced: boolean): readonly [string, V1APIResource] => [
  kind,
  { kind, name, namespaced, singularName: kind.toLowerCase(), verbs: ['get', 'patch'] },
];

/** Resources whose paths are the same in every supported cluster, so the API need not be queried for them. */
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

/** The fields of an applied object that are read here. */
interface Applied {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

type AnyObject = Readonly<Record<string, unknown>>;

const NOT_FOUND = 404;
const OBJECT_LENGTH_MAX = 4 * 1_048_576;

export const objectIn = (text: string): AnyObject => {
  const value = parseJson(text, { lengthMax: OBJECT_LENGTH_MAX });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('the answer is no object');
  return value as AnyObject;
};

/** The library's generic object API, which queries only the paths of unknown kinds. */
export class ObjectApi extends KubernetesObjectApi {
  /**
   * Server-side apply of an unmodified manifest. The library's own `patch` converts it to its models, which rename some
   * fields (`x_kubernetes_int_or_string`), and also converts the response, which is not needed.
   */
  async apply(manifest: Applied, fieldManager: string): Promise<void> {
    await this.sendApply(manifest, { fieldManager });
  }

  /** The object after a dry run of applying this. */
  async dryRun(manifest: Applied, fieldManager: string): Promise<AnyObject> {
    return objectIn(await this.sendApply(manifest, { fieldManager, dryRun: 'All' }));
  }

  /** The current object. */
  async find(object: Applied): Promise<AnyObject> {
    return objectIn(await this.send(object, 'read', HttpMethod.GET));
  }

  /** Deletes it with all dependents. */
  async remove(object: Applied): Promise<void> {
    await this.send(object, 'delete', HttpMethod.DELETE, (context) =>
      context.setQueryParam('propagationPolicy', 'Background'),
    );
  }

  /** undefined: the cluster does not know the kind. */
  async isNamespaced({ apiVersion, kind }: Applied): Promise<boolean | undefined> {
    try {
      return (await this.resource(apiVersion, kind))?.namespaced;
    } catch (error) {
      // Even the group is unknown.
      if (error instanceof ApiException && error.code === NOT_FOUND) return undefined;
      throw error;
    }
  }

  private sendApply(manifest: Applied, query: Readonly<Record<string, string>>): Promise<string> {
    return this.send(manifest, 'patch', HttpMethod.PATCH, (context) => {
      context.setHeaderParam('Content-Type', PatchStrategy.ServerSideApply);
      for (const [name, value] of Object.entries({ ...query, force: 'true' })) context.setQueryParam(name, value);
      context.setBody(JSON.stringify(manifest));
    });
  }

  private async send(
    manifest: Applied,
    action: 'patch' | 'read' | 'delete',
    method: HttpMethod,
    prepare: (context: RequestContext) => void = () => undefined,
  ): Promise<string> {
    const { baseServer, authMethods, httpApi } = this.configuration;
    const object: KubernetesObject = { ...manifest, metadata: { ...manifest.metadata } };
    const context = baseServer.makeRequestContext(await this.specUriPath(object, action), method);
    context.setHeaderParam('Accept', 'application/json');
    prepare(context);
    await authMethods.default?.applySecurityAuthentication(context);
    const response = await httpApi.send(context).toPromise();
    const body = await response.body.text();
    if (response.httpStatusCode >= 200 && response.httpStatusCode <= 299) return body;
    throw new ApiException(response.httpStatusCode, `no success of ${action}`, body, response.headers);
  }

  protected override async resource(
    apiVersion: string,
    kind: string,
    options?: Configuration,
  ): Promise<V1APIResource | undefined> {
    return KNOWN[apiVersion]?.get(kind) ?? super.resource(apiVersion, kind, options);
  }
}
