import * as z from 'zod';
import type { NodeMetadata, NodeView } from '../../agent/agent.ports.js';

/** The fields of a Node object that the agent reads (kubernetes.io, core/v1 Node). */
export const NodeObject = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    resourceVersion: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  status: z
    .looseObject({
      conditions: z
        .array(
          z.looseObject({
            type: z.string(),
            status: z.string(),
            reason: z.string().optional(),
            message: z.string().optional(),
          }),
        )
        .optional(),
      nodeInfo: z.looseObject({ kubeletVersion: z.string() }).optional(),
    })
    .optional(),
});
export type NodeObject = z.infer<typeof NodeObject>;

export const NodeList = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  items: z.array(NodeObject),
});

export const WatchLine = z.looseObject({ type: z.string(), object: z.unknown() });

export const viewOf = (node: NodeObject): NodeView => {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    ready: ready?.status === 'True',
    message: ready === undefined ? 'no Ready condition yet' : `${ready.reason ?? ''}: ${ready.message ?? ''}`,
    kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
  };
};

const missing = (
  desired: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(desired).filter(([key, value]) => found?.[key] !== value));

/** A merge patch with only the differences, or undefined if there are none. Other fields are kept. */
export const patchOf = (node: NodeObject, desired: NodeMetadata): object | undefined => {
  const labels = missing(desired.labels, node.metadata.labels);
  const annotations = missing(desired.annotations, node.metadata.annotations);
  if (Object.keys(labels).length + Object.keys(annotations).length === 0) return undefined;
  return { metadata: { labels, annotations } };
};
