import type { ClusterState } from '../../apps/gateway/src/clusters/clusters.decider.js';
import type { ServiceWorld } from './growth.parts.js';

type EndedWorld = Pick<ServiceWorld, 'provider' | 'kubernetes' | 'etcd' | 'infra' | 'boot'> & {
  /** The gateway's state. */
  readonly gateway: ClusterState;
};

/**
 * Why this is not a valid final state; undefined: the cluster is Provisioned and complete, or nothing of it is left.
 */
export const troubleOf = (world: EndedWorld): string | undefined => {
  if (world.gateway.status === 'absent') return world.provider.size === 0 ? undefined : 'machines are left';
  const { phase, additions, stuck, members } = world.gateway;
  if (phase !== 'Provisioned') return `it is ${phase}`;
  if (additions.size > 0) return 'a request for nodes is not done';
  if (stuck.size > 0) return `stuck: ${[...stuck].join(', ')}`;
  if (world.boot.status !== 'ready') return `bootstrap is ${world.boot.status}`;
  if (world.infra.status !== 'desired') return `machines are ${world.infra.status}`;
  const names = Object.keys(members).sort().join();
  if ([...world.provider].sort().join() !== names) return `machines: ${[...world.provider].join()} of ${names}`;
  if ([...world.kubernetes].sort().join() !== names) return `nodes: ${[...world.kubernetes].join()} of ${names}`;
  const removing = Object.values(members).flatMap(({ name, leaving }) => (leaving ? [name] : []));
  if (removing.length > 0) return `on their way out: ${removing.join()}`;
  const controlPlanes = Object.keys(members).filter((name) => members[name]?.role === 'control-plane');
  return [...world.etcd].sort().join() === controlPlanes.sort().join()
    ? undefined
    : 'members of etcd that are no nodes';
};

/** The final state, however it was reached. */
export const outcomeOf = (world: EndedWorld): object => {
  const sorted = (names: Iterable<string>): readonly string[] => [...names].toSorted();
  const members = world.gateway.status === 'absent' ? {} : world.gateway.members;
  return {
    status: world.gateway.status,
    members,
    provider: sorted(world.provider),
    kubernetes: sorted(world.kubernetes),
    etcd: sorted(world.etcd),
  };
};
