import { useState } from 'react';
import { api, dataOf, type Cluster } from '../api.js';
import { useMay } from '../session/session.js';
import { ActDialog, type Act } from '../ui/dialog.js';
import { Ago, Button, clusterPath, Empty, Link, Panel, State, Table } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';

type Node = Cluster['nodes'][number];

const SOFTWARE = ['kubelet', 'containerd', 'runtime', 'kernel', 'os'] as const;

export const NodesTable = ({
  view,
  place,
  isPast,
}: {
  readonly view: Cluster;
  readonly place: ClusterAt;
  readonly isPast: boolean;
}) => {
  const mayDo = useMay();
  const [act, setAct] = useState<Act | undefined>(undefined);
  const mayAct = mayDo('operator', place.namespace) && !isPast;
  if (view.nodes.length === 0) return <Empty title="It has no nodes yet." />;
  const software = SOFTWARE.filter((name) => view.nodes.some((node) => node.software[name] !== undefined));
  return (
    <Panel title="Nodes">
      <Table
        label="Nodes"
        head={[
          'Node',
          'State',
          'Role',
          'Pool',
          ...software,
          'Machine',
          'Address',
          'Changed',
          ...(mayAct ? ['Actions'] : []),
        ]}
      >
        {view.nodes.map((node) => (
          <tr key={node.name}>
            <td>
              <Link to={clusterPath(place.namespace, place.cluster, 'nodes', node.name)}>
                <strong>{node.name}</strong>
              </Link>
              {node.reason === '' ? null : <div className="dim wrap">{node.reason}</div>}
              {node.remediation === undefined ? null : <div className="dim wrap">{node.remediation}</div>}
              {node.updatesDisabled === null ? null : <div className="dim wrap">held: {node.updatesDisabled}</div>}
              {node.cordon === undefined ? null : <div className="dim wrap">cordoned: {node.cordon.reason}</div>}
            </td>
            <td>
              <State state={node.phase} />
            </td>
            <td>{node.role}</td>
            <td>{node.pool}</td>
            {software.map((name) => (
              <td key={name} className="num">
                {node.software[name] ?? '–'}
              </td>
            ))}
            <td>{node.spec}</td>
            <td className="num">{node.privateIp}</td>
            <td className="num dim">
              <Ago at={node.changedAt} />
            </td>
            {mayAct ? (
              <td className="nowrap">
                <NodeActs node={node} place={place} onAct={setAct} />
              </td>
            ) : null}
          </tr>
        ))}
      </Table>
      <ActDialog act={act} onClose={() => setAct(undefined)} />
    </Panel>
  );
};

const NodeActs = ({
  node,
  place,
  onAct,
}: {
  readonly node: Node;
  readonly place: ClusterAt;
  readonly onAct: (act: Act) => void;
}) => {
  const path = { ...place, node: node.name };
  return (
    <>
      <Button
        look="quiet"
        aria-label={`Replace ${node.name}`}
        onClick={() =>
          onAct({
            title: `Replace ${node.name}?`,
            description: 'Another machine is created, and then the node is drained and leaves.',
            button: 'Replace',
            needsReason: true,
            run: ({ reason }) =>
              dataOf(
                api.POST('/ns/{namespace}/clusters/{cluster}/nodes/{node}/replace', {
                  params: { path },
                  body: { order: 'create-first', reason },
                }),
              ),
          })
        }
      >
        Replace
      </Button>
      {node.role === 'worker' ? (
        <Button
          look="quiet"
          aria-label={`Remove ${node.name}`}
          onClick={() =>
            onAct({
              title: `Remove ${node.name}?`,
              description: 'It is drained, leaves the cluster, and its machine is deleted. Its pool is one smaller.',
              button: 'Remove',
              look: 'danger',
              typed: node.name,
              run: () => dataOf(api.DELETE('/ns/{namespace}/clusters/{cluster}/nodes/{node}', { params: { path } })),
            })
          }
        >
          Remove
        </Button>
      ) : null}
    </>
  );
};
