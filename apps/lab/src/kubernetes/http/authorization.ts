import type { Pod } from '../objects/core.types.js';
import type { KubeObject } from '../objects/kube.object.js';
import { valueAt } from '../objects/json.js';
import type { Identity } from '../api/identity.js';
import { ANONYMOUS } from './identity.js';

/** The attributes of a request that Kubernetes authorizes. */
export interface AccessAttributes {
  readonly verb: string;
  readonly group: string;
  readonly plural: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const READS = ['get', 'list', 'watch'];
const NODE_USER = 'system:node:';

/** Lookups that an authorization decision needs. */
export interface Judgement {
  readonly podOf: (namespace: string, name: string) => Pod | undefined;
  /** Whether a ClusterRoleBinding grants `cluster-admin` to the user or one of its groups. */
  readonly isClusterAdmin: (identity: Identity) => boolean;
}

/** Whether a ClusterRoleBinding grants `cluster-admin` to the user. */
export const bindsAdministrator = (binding: KubeObject, { name, groups }: Identity): boolean => {
  const subjects = valueAt(binding, 'subjects');
  return (
    valueAt(binding, 'roleRef.name') === 'cluster-admin' &&
    Array.isArray(subjects) &&
    subjects.some((subject: unknown) => {
      const named = String(valueAt(subject, 'name'));
      return valueAt(subject, 'kind') === 'Group' ? groups.includes(named) : named === name;
    })
  );
};

/**
 * Simulates only the part of RBAC that certificate users need here: ClusterRoleBindings to `cluster-admin`. Two kinds
 * of callers are restricted in addition: a node may change only its own objects (as with the Node authorizer and
 * NodeRestriction), and a bootstrap token may read only what a join needs.
 */
export const isAllowed = (
  identity: Identity,
  access: AccessAttributes,
  { podOf, isClusterAdmin }: Judgement,
): boolean => {
  if (identity.groups.includes('system:masters')) return true;
  if (identity.groups.includes('system:nodes') && identity.name.startsWith(NODE_USER)) {
    return nodeMay(identity.name.slice(NODE_USER.length), access, podOf);
  }
  if (identity.groups.includes('system:bootstrappers')) return bootstrapperMay(access);
  if (identity.name === ANONYMOUS.name) return isClusterInfo(access);
  // Every authenticated user may review its own access (system:basic-user).
  return (access.verb === 'create' && access.plural.startsWith('selfsubject')) || isClusterAdmin(identity);
};

const nodeMay = (
  node: string,
  access: AccessAttributes,
  podOf: (namespace: string, name: string) => Pod | undefined,
): boolean => {
  if (READS.includes(access.verb)) return true;
  switch (access.plural) {
    case 'nodes':
      return (
        access.verb !== 'delete' &&
        access.verb !== 'deletecollection' &&
        (access.name === node || access.name === undefined)
      );
    case 'leases':
      return access.namespace === 'kube-node-lease' && (access.name === node || access.verb === 'create');
    case 'events':
      return access.verb !== 'delete' && access.verb !== 'deletecollection';
    case 'certificatesigningrequests':
    case 'subjectaccessreviews':
    case 'selfsubjectaccessreviews':
    case 'selfsubjectreviews':
    case 'tokenreviews':
      return access.verb === 'create';
    case 'pods':
      return access.name !== undefined && podOf(access.namespace ?? '', access.name)?.spec.nodeName === node;
  }
  return false;
};

const JOIN_CONFIG_MAPS = ['kubeadm-config', 'kubelet-config', 'kube-proxy'];

const bootstrapperMay = (access: AccessAttributes): boolean => {
  if (access.plural === 'certificatesigningrequests') return access.verb === 'create' || READS.includes(access.verb);
  if (access.plural.startsWith('selfsubject')) return access.verb === 'create';
  if (!READS.includes(access.verb)) return false;
  if (access.plural === 'nodes') return access.verb === 'get';
  const joins =
    access.plural === 'configmaps' &&
    access.namespace === 'kube-system' &&
    JOIN_CONFIG_MAPS.includes(access.name ?? '');
  return joins || isClusterInfo(access);
};

/** kubeadm's discovery reads this object anonymously. */
const isClusterInfo = ({ verb, plural, namespace, name }: AccessAttributes): boolean =>
  verb === 'get' && plural === 'configmaps' && namespace === 'kube-public' && name === 'cluster-info';

/** Kubernetes' message for a denied request. */
export const denial = (
  identity: Identity,
  { verb, group, plural, subresource, namespace, name }: AccessAttributes,
): string => {
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
  const qualified = group === '' ? plural : `${plural}.${group}`;
  const what = name === undefined ? `${qualified} is forbidden` : `${qualified} "${name}" is forbidden`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  return `${what}: User "${identity.name}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
};
