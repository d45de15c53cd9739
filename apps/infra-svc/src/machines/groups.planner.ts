import type { ConnectionName } from '@fairlead/contracts';
import { requestedSets } from '@fairlead/domain';
import type { Task } from '@fairlead/event-sourcing';
import { connectionGroup } from '../connections/connection.group.js';
import { requestOf } from './node.requests.js';
import type { TaskData } from './machines.decider.js';
import { likeOf, setsOf } from './machines.planner.js';
import type { Cluster } from './machines.state.js';

const ofCluster = ({ spec, planned }: Cluster): readonly ConnectionName[] => [
  ...requestedSets(spec).map(({ connection }) => connection),
  ...planned.map(({ connection }) => connection),
];

const ofRequest = (cluster: Cluster, requestId: string): readonly ConnectionName[] => {
  const request = requestOf(cluster.additions, requestId);
  return request === undefined ? [] : requestedSets(setsOf(cluster, request)).map(({ connection }) => connection);
};

const ofMachine = ({ planned, spec }: Cluster, node: TaskData['node']): readonly ConnectionName[] => {
  const plan = planned.find(({ name }) => name === node);
  if (plan === undefined) return [];
  // The load balancer is changed first.
  return plan.role === 'control-plane' ? [plan.connection, spec.controlPlane.connection] : [plan.connection];
};

const connectionsOf = (cluster: Cluster, { type, data }: Task): readonly ConnectionName[] => {
  const { requestId, surge, node, reservation } = data as TaskData;
  if (reservation !== undefined) return [reservation.connection];
  if (node !== undefined) return ofMachine(cluster, node);
  if (surge !== undefined) return [likeOf(cluster.planned, surge.pool)?.connection].filter((one) => one !== undefined);
  if (requestId !== undefined) return ofRequest(cluster, requestId);
  return type.endsWith('LoadBalancer') ? [cluster.spec.controlPlane.connection] : ofCluster(cluster);
};

/** Adds the connections that the task needs. */
export const withGroups =
  (cluster: Cluster) =>
  (task: Task): Task => ({ ...task, groups: [...new Set(connectionsOf(cluster, task).map(connectionGroup))] });
