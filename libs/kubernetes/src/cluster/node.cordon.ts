import { ExternalFailure } from '@fairlead/contracts';
import { statusOf, type KubernetesClient } from '../kubernetes.client.js';
import { PatchStrategy, setHeaderOptions, type V1Node } from '@kubernetes/client-node';
import type { CordonOptions } from '../cluster.ports.js';
import { CORDONED_BY, DRAINED_SINCE, EXCLUDED_BY, EXCLUDE_FROM_LOAD_BALANCERS } from './views.js';

/** The node changed in between: read it again. */
const CONFLICT = 409;
const TRIES_MAX = 5;

type Patch = { readonly metadata?: object; readonly spec?: object };

const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

/**
 * Reads a node, decides on a patch (undefined: nothing to do) and applies it to exactly that version. Returns the node
 * as read; undefined: not found.
 */
export const patchNode = async (
  client: KubernetesClient,
  name: string,
  operation: string,
  decide: (node: V1Node) => Patch | undefined,
): Promise<V1Node | undefined> => {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const node = await client.find(operation, () => client.core.readNode({ name }));
    if (node === undefined) return undefined;
    const patch = decide(node);
    if (patch === undefined) return node;
    const resourceVersion = node.metadata?.resourceVersion;
    const body = { ...patch, metadata: { ...patch.metadata, resourceVersion } };
    const outcome = await client.call(operation, () =>
      client.core.patchNode({ name, body }, merge).catch((error: unknown) => {
        if (statusOf(error) === CONFLICT) return 'conflict' as const;
        throw error;
      }),
    );
    if (outcome !== 'conflict') return node;
  }
  throw new ExternalFailure({ operation, target: name, message: 'others keep changing the node at the same time' });
};

const marksOf = (node: V1Node): Readonly<Record<string, string>> => node.metadata?.annotations ?? {};

/** See ClusterApi.cordon: mark and cordon are one write, so that no crash can separate them. */
export const cordonNode = async (
  client: KubernetesClient,
  name: string,
  { mark, leaving = false }: CordonOptions & { readonly mark: string },
): Promise<boolean | undefined> => {
  let byMark = false;
  const node = await patchNode(client, name, `cordon ${name}`, (current) => {
    const cordoned = current.spec?.unschedulable === true;
    byMark = !cordoned || marksOf(current)[CORDONED_BY] === mark;
    const excluded = current.metadata?.labels?.[EXCLUDE_FROM_LOAD_BALANCERS] !== undefined;
    // Only what this mark cordoned is uncordoned later, and only that reverts the exclusion.
    if (cordoned && (excluded || !leaving)) return undefined;
    return {
      metadata: {
        annotations: { ...(cordoned ? {} : { [CORDONED_BY]: mark }), ...(excluded ? {} : { [EXCLUDED_BY]: mark }) },
        ...(excluded ? {} : { labels: { [EXCLUDE_FROM_LOAD_BALANCERS]: '' } }),
      },
      ...(cordoned ? {} : { spec: { unschedulable: true } }),
    };
  });
  return node === undefined ? undefined : byMark;
};

/** The time recorded by a drain with this mark; undefined: none, or invalid. */
const drainedUnder = (annotation: string | undefined, mark: string): number | undefined => {
  const [by, since = ''] = annotation?.split(' ') ?? [];
  const sinceMs = Date.parse(since);
  return by === mark && !Number.isNaN(sinceMs) ? sinceMs : undefined;
};

/**
 * See ClusterApi.beginDrain: recorded on the node itself, the time survives a crash, and other processes see the same
 * one.
 */
export const beginDrain = async (client: KubernetesClient, name: string, mark: string): Promise<number | undefined> => {
  const nowMs = await client.nowMs();
  let sinceMs = nowMs;
  const node = await patchNode(client, name, `begin the drain of ${name}`, (current) => {
    const recordedMs = drainedUnder(marksOf(current)[DRAINED_SINCE], mark);
    // With a future time, pods created until then would count as already present.
    const isRecorded = recordedMs !== undefined && recordedMs <= nowMs;
    sinceMs = isRecorded ? recordedMs : nowMs;
    if (isRecorded) return undefined;
    return { metadata: { annotations: { [DRAINED_SINCE]: `${mark} ${new Date(nowMs).toISOString()}` } } };
  });
  return node === undefined ? undefined : sinceMs;
};

export const uncordonNode = async (client: KubernetesClient, name: string, mark: string): Promise<void> => {
  await patchNode(client, name, `uncordon ${name}`, (current) => {
    const marks = marksOf(current);
    const drained = drainedUnder(marks[DRAINED_SINCE], mark) === undefined ? {} : { [DRAINED_SINCE]: null };
    if (marks[CORDONED_BY] !== mark)
      return Object.keys(drained).length === 0 ? undefined : { metadata: { annotations: drained } };
    const excluded = marks[EXCLUDED_BY] === mark;
    return {
      metadata: {
        annotations: { [CORDONED_BY]: null, ...drained, ...(excluded ? { [EXCLUDED_BY]: null } : {}) },
        ...(excluded ? { labels: { [EXCLUDE_FROM_LOAD_BALANCERS]: null } } : {}),
      },
      spec: { unschedulable: null },
    };
  });
};

/** Adds (or removes) the soft taint; false: no such node. */
export const setTaint = async (
  client: KubernetesClient,
  name: string,
  { key, present }: { readonly key: string; readonly present: boolean },
): Promise<boolean> => {
  const node = await patchNode(client, name, `taint ${name}`, ({ spec }) => {
    const taints = spec?.taints ?? [];
    if (taints.some((taint) => taint.key === key) === present) return undefined;
    const others = taints.filter((taint) => taint.key !== key);
    return { spec: { taints: present ? [...others, { key, effect: 'PreferNoSchedule' }] : others } };
  });
  return node !== undefined;
};
