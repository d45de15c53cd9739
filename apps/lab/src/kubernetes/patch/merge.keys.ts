/**
 * How lists of the built-in types merge, by field name. Source: the `patchStrategy` and `patchMergeKey` tags of
 * kubernetes/api (core, apps, batch, policy, networking, rbac, admissionregistration at v1). Lists that are missing
 * here are replaced as a whole, as are a node's taints and a pod's tolerations, which have no such tag.
 */
const STRATEGIC_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  volumes: 'name',
  imagePullSecrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
  schedulingGates: 'name',
  resourceClaims: 'name',
  conditions: 'type',
  addresses: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  ownerReferences: 'uid',
  secrets: 'name',
  webhooks: 'name',
};

/** The merge key of the list at `path` in a strategic merge patch, or undefined for an atomic list. */
export const strategicMergeKey = (path: readonly string[]): string | undefined => {
  const field = path.at(-1) ?? '';
  // Ports of a container merge by containerPort, those of a service by port. Both fields are named "ports".
  if (field === 'ports')
    return path.at(-2) === 'spec' ? 'port' : path.includes('containers') ? 'containerPort' : undefined;
  return STRATEGIC_KEYS[field];
};

/** Lists of plain values that merge as sets. */
export const isPrimitiveSet = (path: readonly string[]): boolean =>
  path.at(-1) === 'finalizers' || path.at(-1) === 'podCIDRs';

/**
 * The keys of list items for server-side apply (`listType=map`, `listMapKey` in kubernetes/api): the merge key, and for
 * ports also the protocol.
 */
export const applyKeys = (path: readonly string[]): readonly string[] | undefined => {
  const key = strategicMergeKey(path);
  if (key === undefined) return undefined;
  if (key === 'containerPort' || key === 'port') return [key, 'protocol'];
  return key === 'topologyKey' ? [key, 'whenUnsatisfiable'] : [key];
};
