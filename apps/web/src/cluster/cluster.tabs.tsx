import { clusterPath, Link } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';

const TABS = [
  ['overview', 'Overview'],
  ['nodes', 'Nodes'],
  ['operations', 'Operations'],
  ['events', 'Events'],
  ['changes', 'Difference'],
  ['snapshots', 'Snapshots'],
  ['hooks', 'Hooks'],
  ['audit', 'Audit'],
] as const;

/** The parts of a cluster, from each of them. The audit is always of the whole log. */
export const ClusterTabs = ({
  namespace,
  cluster,
  tab,
  at,
}: ClusterAt & { readonly tab: string; readonly at?: string | undefined }) => (
  <nav className="tabs" aria-label="Parts of the cluster">
    {TABS.map(([name, title]) => (
      <Link
        key={name}
        to={clusterPath(namespace, cluster, name)}
        query={name === 'audit' ? {} : { at }}
        aria-current={tab === name ? 'page' : undefined}
      >
        {title}
      </Link>
    ))}
  </nav>
);
