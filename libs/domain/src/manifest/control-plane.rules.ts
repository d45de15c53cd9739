import { refuse, STACKED_CONTROL_PLANES_MAX, type Refusal } from '@fairlead/contracts';

/**
 * Why there cannot be this many control planes, each with a member of etcd. Those of an external etcd have a rule of
 * their own, too.
 */
export const controlPlaneCountFaults = (
  { etcd, replicas: count }: { readonly etcd: string | undefined; readonly replicas: number },
  field: string,
): readonly Refusal[] => {
  const max = STACKED_CONTROL_PLANES_MAX;
  if (count < 1) return [refuse('cluster.control-plane-count', {}, field)];
  if (etcd !== 'external' && count > max) return [refuse('cluster.control-plane-too-many', { max, count }, field)];
  return count % 2 === 0 ? [refuse('cluster.control-plane-even', { count }, field)] : [];
};
