import { scaleLinear } from 'd3-scale';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { actorText } from '../format.js';
import { useQueryChange } from '../place.js';
import { causeGraph, type CausedEntry, type GraphNode } from './causes.js';

const COLUMN = 178;
const ROW = 30;
const BOX = { width: 154, height: 24 };
const LABEL = 96;
const TYPE_LENGTH = 21;

interface Placed extends GraphNode {
  readonly x: number;
  readonly y: number;
}

const shortened = (text: string): string => (text.length > TYPE_LENGTH ? `${text.slice(0, TYPE_LENGTH - 1)}…` : text);

/** Each box beside those of its column in its lane. */
const placed = (nodes: readonly GraphNode[], lanes: readonly string[]) => {
  const first = Math.min(...nodes.map(({ column }) => column));
  const rows = new Map<string, number>();
  const inLane = nodes.map((node) => {
    const key = `${node.lane} ${node.column}`;
    const row = rows.get(key) ?? 0;
    rows.set(key, row + 1);
    return { ...node, row };
  });
  const heights = lanes.map(
    (_, lane) => 1 + Math.max(0, ...inLane.filter((node) => node.lane === lane).map(({ row }) => row)),
  );
  const tops = heights.map((_, lane) => heights.slice(0, lane).reduce((sum, height) => sum + height * ROW + 10, 0));
  const columns = 1 + Math.max(...nodes.map(({ column }) => column)) - first;
  const x = scaleLinear([0, columns], [LABEL, LABEL + columns * COLUMN]);
  const boxes = inLane.map((node): Placed => ({
    ...node,
    x: x(node.column - first),
    y: (tops[node.lane] ?? 0) + node.row * ROW + 6,
  }));
  const height = heights.reduce((sum, one) => sum + one * ROW + 10, 0);
  return { boxes, tops, heights, width: LABEL + columns * COLUMN, height };
};

export const CauseGraphView = ({
  history,
  seq,
  place,
}: {
  readonly history: readonly CausedEntry[];
  readonly seq: number;
  readonly place: ClusterAt;
}) => {
  const change = useQueryChange();
  const graph = causeGraph(history, seq);
  if (graph === undefined) return null;
  const { boxes, tops, heights, width, height } = placed(graph.nodes, graph.lanes);
  const at = new Map(boxes.map((box) => [box.entry.seq, box]));
  return (
    <div className="scroll graph" tabIndex={0} role="region" aria-label={`Causes of event ${seq} of ${place.cluster}`}>
      <div className="graph-stage" style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true">
          {graph.lanes.map((lane, index) => (
            <g key={lane}>
              <rect
                className={`graph-lane ${index % 2 === 0 ? '' : 'is-odd'}`}
                x={0}
                y={tops[index]}
                width={width}
                height={(heights[index] ?? 1) * ROW + 10}
              />
              <text className="graph-label" x={8} y={(tops[index] ?? 0) + 22}>
                {lane}
              </text>
            </g>
          ))}
          {graph.edges.map(({ from, to }) => {
            const [one, other] = [at.get(from), at.get(to)];
            if (one === undefined || other === undefined) return null;
            const [x1, y1, x2, y2] = [one.x + BOX.width, one.y + BOX.height / 2, other.x, other.y + BOX.height / 2];
            const middle = (x1 + x2) / 2;
            return (
              <path
                key={`${from} ${to}`}
                className="graph-edge"
                d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}
              />
            );
          })}
        </svg>
        {boxes.map(({ entry, x, y, column }) => (
          <button
            key={entry.seq}
            type="button"
            className={`graph-box ${column === 0 ? 'is-chosen' : ''}`}
            style={{ left: x, top: y, width: BOX.width, height: BOX.height }}
            title={`${entry.sentence}\n${actorText(entry.actor)}, ${entry.time}`}
            aria-label={`${entry.seq} ${shortened(entry.type)}: ${entry.sentence}`}
            aria-current={column === 0 ? 'true' : undefined}
            onClick={() => change({ event: entry.seq }, false)}
          >
            <span className="num dim">{entry.seq}</span> {shortened(entry.type)}
          </button>
        ))}
      </div>
      {graph.hidden === 0 ? null : <p className="dim">And {graph.hidden} more that followed.</p>}
    </div>
  );
};
