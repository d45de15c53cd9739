import type { EventView } from '../api/api.ports.js';
import { listOf, textOf, timeOf } from './event.fields.js';
import type { Shape } from './operations.js';
import { NODE_STAGES, type NodeProgress, type NodeStage, type Progress } from './progress.js';

export const withNode = (progress: Progress, name: string, change: (node: NodeProgress) => NodeProgress): Progress => ({
  ...progress,
  nodes: progress.nodes.map((node) => (node.name === name ? change(node) : node)),
});

/** The node got that far (never back, but for Ready and NotReady, which alternate). */
export const reached = (progress: Progress, name: string, stage: NodeStage, atMs: number): Progress =>
  withNode(progress, name, (node) => {
    const goesBack =
      NODE_STAGES.indexOf(stage) < NODE_STAGES.indexOf(node.stage) &&
      !(stage === 'ready' && node.stage === 'not-ready');
    return { ...node, trouble: undefined, ...(goesBack ? {} : { stage, sinceMs: atMs }) };
  });

export const planned = (progress: Progress, event: EventView): Progress => {
  const known = new Set(progress.nodes.map(({ name }) => name));
  const added = listOf(event.data['machines'])
    .filter(({ name }) => !known.has(textOf(name)))
    .map(({ name, role }): NodeProgress => ({
      name: textOf(name),
      role: role === 'control-plane' ? 'control-plane' : 'worker',
      stage: 'planned',
      sinceMs: timeOf(event),
      lost: false,
    }));
  return { ...progress, nodes: [...progress.nodes, ...added] };
};

export const shapeOfNodes = (nodes: readonly NodeProgress[]): Shape => ({
  controlPlanes: nodes.filter(({ role }) => role === 'control-plane').length,
  workers: nodes.filter(({ role }) => role === 'worker').length,
});
