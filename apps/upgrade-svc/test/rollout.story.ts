import {
  declaredOf,
  type ClusterName,
  type ConnectionName,
  type EventData,
  type Fact,
  type KubernetesVersion,
  type Machine,
  type NodeName,
  type PoolName,
} from '@fairlead/contracts';
import { UpgradeStrategy, type UpgradeId } from '@fairlead/contracts';
import { clusterRequested, machineOf } from '../src/nodes/nodes.fixtures.js';
import { nodesOf, UID, type Model } from './model.js';

export const UPGRADE = 'u-8f3k2m9q' as UpgradeId;

/** The creation of the cluster: the log before the first upgrade request. */
export const beginning = (model: Model, version: string): readonly (readonly [context: string, fact: Fact])[] => {
  const machines: Machine[] = nodesOf(model).map(({ name, role, pool }) => ({
    ...machineOf(name),
    role,
    pool,
    connection: 'lab' as ConnectionName,
  }));
  return [
    ['request', named(clusterRequested(UID, `v${version}`))],
    ['machines', { type: 'VmsCreated', data: { uid: UID, machines } }],
    [
      'machines',
      {
        type: 'LoadBalancerReady',
        data: { uid: UID, host: '198.18.0.1', port: 6443, kind: 'haproxy' } as EventData<'LoadBalancerReady'>,
      },
    ],
    ...nodesOf(model).flatMap(({ name, software }): (readonly [string, Fact])[] => [
      [
        `desired-${name}`,
        { type: 'DesiredVersionsSet', data: { uid: UID, node: name, revision: 1, software, changesAllowed: false } },
      ],
      [`node-${name}`, { type: 'NodeReady', data: { uid: UID, node: name, revision: 1, software } }],
    ]),
    ['bootstrap', { type: 'ClusterReady', data: { uid: UID } }],
  ];
};

const named = (fact: Fact<'ClusterRequested'>): Fact<'ClusterRequested'> => ({
  ...fact,
  data: { ...fact.data, spec: { ...fact.data.spec, name: 'demo' as ClusterName } },
});

type Request = EventData<'UpgradeRequested'>;

export const asked = (
  target: Partial<Request['target']>,
  strategy: Record<string, unknown> = {},
  rest: Partial<Request> = {},
): Fact<'UpgradeRequested'> => ({
  type: 'UpgradeRequested',
  data: {
    uid: UID,
    upgradeId: UPGRADE,
    target: { renewCertificates: false, reboot: false, ...target },
    pools: null,
    controlPlane: true,
    strategy: UpgradeStrategy.parse(strategy),
    overrides: [],
    mode: 'go',
    requestHash: '9c1f'.repeat(16),
    ...rest,
  },
});

export const toVersion = (version: string): Partial<Request['target']> => ({
  kubernetes: version as KubernetesVersion,
});

export const request = <T extends Fact['type']>(type: T, data: Record<string, unknown> = {}): Fact =>
  ({ type, data: { uid: UID, upgradeId: UPGRADE, ...data } }) as unknown as Fact;

export const hold = (node: NodeName | null, pool: string | null, disabled: boolean): Fact => ({
  type: 'UpdatesDisabledSet',
  data: {
    uid: UID,
    scope: node === null ? { kind: 'pool', pool: pool ?? '' } : { kind: 'node', node },
    disabled,
    reason: 'black friday',
  },
});

/** The manifest declares that another version comes by new nodes, of the control plane and of the pool w. */
export const replacing = (model: Model): Fact<'ClusterSpecChanged'> => {
  const spec = declaredOf(clusterRequested(UID).data.spec);
  const [first] = spec.pools;
  const count = (role: string): number => nodesOf(model).filter((node) => node.role === role).length;
  const rollout = { strategy: 'Replace', maxSurge: 1 } as const;
  const pool = { ...first!, name: 'w' as PoolName, replicas: count('worker') };
  return {
    type: 'ClusterSpecChanged',
    data: {
      uid: UID,
      revision: 1,
      spec: {
        ...spec,
        controlPlane: { ...spec.controlPlane, replicas: count('control-plane'), rollout },
        pools: [{ ...pool, rollout: { ...rollout, maxUnavailable: 0, canary: true } }],
      },
    },
  };
};
