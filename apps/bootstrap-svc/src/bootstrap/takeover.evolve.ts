import type { ClusterUid, EventData, NodeName, StoredEvent } from '@fairlead/contracts';
import type { Cluster, Host } from './bootstrap.state.js';

const isConnected = ({ agentStartedAt }: Host): boolean => agentStartedAt !== null;

/**
 * Its agents have credentials and addresses of another NATS. Timeouts of the cluster start again, because nothing was
 * done meanwhile.
 */
const takenOver = (cluster: Cluster, { handover }: EventData<'ClusterTakenOver'>, time: string): Cluster => {
  const hosts = Object.entries(cluster.hosts).map(([name, host]): [string, Host] => [
    name,
    isConnected(host) ? { ...host, agentElsewhere: true } : host,
  ]);
  return { ...cluster, hosts: Object.fromEntries(hosts), handover, runStartedAt: time };
};

const agentTakenOver = (cluster: Cluster, node: NodeName): Cluster => {
  const { agentElsewhere, ...host } = cluster.hosts[node] ?? {};
  return agentElsewhere === undefined ? cluster : { ...cluster, hosts: { ...cluster.hosts, [node]: host as Host } };
};

export const evolveTakeOver = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ClusterTakenOver':
      return takenOver(cluster, event.data, event.meta.time);
    case 'AgentTakenOver':
      return agentTakenOver(cluster, event.data.node);
    default:
      return cluster;
  }
};

/** Recorded once per cluster by an installation that has taken over another one. */
export interface TakeOver {
  readonly uid: ClusterUid;
  readonly handover: string;
  readonly epoch: number;
}
