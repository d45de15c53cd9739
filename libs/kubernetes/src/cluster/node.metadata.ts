import type { V1Node } from '@kubernetes/client-node';
import type { NodeMetadataChange, NodeTaint } from '../cluster.ports.js';
import type { KubernetesClient } from '../kubernetes.client.js';
import { patchNode } from './node.cordon.js';

const keyOf = ({ key, effect }: Pick<NodeTaint, 'key' | 'effect'>): string => `${key}:${effect}`;

const labelsPatch = (
  current: Readonly<Record<string, string>>,
  { labels, obsoleteLabels }: NodeMetadataChange,
): Readonly<Record<string, string | null>> => {
  const gone = obsoleteLabels.filter((key) => key in current && !(key in labels));
  const changed = Object.entries(labels).filter(([key, value]) => current[key] !== value);
  return Object.fromEntries([...gone.map((key) => [key, null] as const), ...changed]);
};

/** undefined: no change needed. Others' taints keep their order and times. */
const taintsPatch = (
  current: readonly NodeTaint[],
  { taints, obsoleteTaints }: NodeMetadataChange,
): readonly NodeTaint[] | undefined => {
  const desired = new Map(taints.map((taint) => [keyOf(taint), taint]));
  const isSame = (taint: NodeTaint): boolean => (desired.get(keyOf(taint))?.value ?? '') === (taint.value ?? '');
  const kept = current.filter((taint) =>
    desired.has(keyOf(taint)) ? isSame(taint) : !obsoleteTaints.includes(keyOf(taint)),
  );
  const there = new Set(kept.map(keyOf));
  const missing = taints.filter((taint) => !there.has(keyOf(taint)));
  return missing.length === 0 && kept.length === current.length ? undefined : [...kept, ...missing];
};

/** See ClusterApi.setNodeMetadata. */
export const setNodeMetadata = async (
  client: KubernetesClient,
  name: string,
  change: NodeMetadataChange,
): Promise<boolean> => {
  const node = await patchNode(client, name, `label ${name}`, ({ metadata, spec }: V1Node) => {
    const labels = labelsPatch(metadata?.labels ?? {}, change);
    const taints = taintsPatch((spec?.taints ?? []) as readonly NodeTaint[], change);
    if (Object.keys(labels).length === 0 && taints === undefined) return undefined;
    return { metadata: { labels }, ...(taints === undefined ? {} : { spec: { taints } }) };
  });
  return node !== undefined;
};
