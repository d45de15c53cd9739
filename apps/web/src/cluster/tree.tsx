import type { Cluster } from '../api.js';
import { counted } from '../format.js';
import { Panel, State } from '../ui/ui.js';

/** The cluster as objects: pools, their nodes, and the machines below them. */
export const ObjectTree = ({ view }: { readonly view: Cluster }) => {
  const pools = [...new Set(view.nodes.map(({ role, pool }) => (role === 'control-plane' ? 'control-plane' : pool)))];
  return (
    <Panel title="Objects" side={<span className="dim">{counted(view.nodes.length, 'node')}</span>}>
      <ul className="tree">
        <li>
          <State state={view.status.state} word={`Cluster ${view.name}`} />
          <ul>
            {pools.map((pool) => {
              const nodes = view.nodes.filter(
                (node) => (node.role === 'control-plane' ? 'control-plane' : node.pool) === pool,
              );
              const ready = nodes.filter((node) => node.ready).length;
              return (
                <li key={pool}>
                  <span className="tree-line">
                    <State
                      state={
                        ready === nodes.length
                          ? 'Ready'
                          : view.status.state === 'Provisioning'
                            ? 'Provisioning'
                            : 'Degraded'
                      }
                      word={pool === 'control-plane' ? 'Control plane' : `Pool ${pool}`}
                    />
                    <span className="num dim">
                      {ready}/{nodes.length}
                    </span>
                  </span>
                  <ul>
                    {nodes.map((node) => (
                      <li key={node.name}>
                        <span className="tree-line">
                          <State state={node.phase} word={node.name} />
                          <span className="dim num">{node.software['kubelet'] ?? node.stage}</span>
                          <span className="dim">{node.spec}</span>
                          <span className="dim num">{node.privateIp}</span>
                        </span>
                      </li>
                    ))}
                  </ul>
                </li>
              );
            })}
          </ul>
        </li>
      </ul>
    </Panel>
  );
};
