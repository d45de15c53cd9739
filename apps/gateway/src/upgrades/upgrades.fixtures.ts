import {
  UpgradeRequest,
  type EventData,
  type Fact,
  type NodeName,
  type PlanOperation,
  type UpgradeId,
  type UpgradePlan,
} from '@fairlead/contracts';
import { NODES, plan as machinePlan, uid } from '../story.fixtures.js';
import { toUpgradeStrategy } from './upgrades.rules.js';

export const upgradeId = 'u-0123456789' as UpgradeId;
export const PLAN_HASH = 'f'.repeat(64);

const names = (...nodes: readonly string[]): NodeName[] => nodes as NodeName[];

/** What a request looks like when nothing but the version was asked for. */
export const upgradeRequest = (change: Readonly<Record<string, unknown>> = {}): UpgradeRequest =>
  UpgradeRequest.parse({ version: 'v1.35.4', ...change });

export const upgradeRequested = (change: Partial<EventData<'UpgradeRequested'>> = {}): Fact<'UpgradeRequested'> => {
  const request = upgradeRequest();
  const { pools, controlPlane, overrides } = request;
  return {
    type: 'UpgradeRequested',
    data: {
      uid,
      upgradeId,
      target: { kubernetes: 'v1.35.4' as never, renewCertificates: false, reboot: false },
      pools,
      controlPlane,
      strategy: toUpgradeStrategy(request),
      overrides,
      mode: 'ask',
      requestHash: 'hash',
      ...change,
    },
  };
};

const operation = (id: string, node: string | null, change: Partial<PlanOperation> = {}): PlanOperation => ({
  id,
  kind: node === null ? 'snapshot-etcd' : machinePlan(node).role,
  node: node as NodeName | null,
  nodes: node === null ? [] : names(node),
  role: node === null ? null : machinePlan(node).role,
  pool: node === null ? null : machinePlan(node).pool,
  batch: 0,
  canary: false,
  from: { kubelet: '1.34.4' },
  to: { kubelet: '1.35.4' },
  change: null,
  drain: true,
  reason: 'it is older than the target',
  predictedSeconds: 90,
  ...change,
});

/** A snapshot, then every node of the story in order. */
export const upgradePlan = (change: Partial<UpgradePlan> = {}): UpgradePlan => ({
  upgradeId,
  target: upgradeRequested().data.target,
  path: ['v1.34.4', 'v1.35.4'] as UpgradePlan['path'],
  strategy: upgradeRequested().data.strategy,
  pools: [{ name: 'worker-1', nodes: 2, atOnce: 1, surge: 0 }],
  operations: [
    operation('op-1', null, { predictedSeconds: 10, reason: 'it can be restored' }),
    ...NODES.map((node, index) => operation(`op-${index + 2}`, node, { batch: index + 1 })),
  ],
  held: [],
  current: [],
  findings: [],
  predictedSeconds: 460,
  ...change,
});

export const upgradePlanned = (
  mode: EventData<'UpgradePlanned'>['mode'] = 'ask',
  plan: UpgradePlan = upgradePlan(),
): Fact<'UpgradePlanned'> => ({ type: 'UpgradePlanned', data: { uid, upgradeId, plan, planHash: PLAN_HASH, mode } });

/** A fact about the upgrade, or about a node of it. */
export const upgradeFact = <T extends Fact['type']>(type: T, data: Readonly<Record<string, unknown>> = {}): Fact =>
  ({ type, data: { uid, upgradeId, ...data } }) as unknown as Fact;

export const cause = { operation: 'kubeadm upgrade node', target: 'demo-w-1', message: 'no space left on device' };

export const operationFailed = (id: string, node: string, nextAttemptAt: string | null = null): Fact =>
  upgradeFact('OperationFailed', { operation: id, node, cause, attempt: 1, attemptsMax: 3, nextAttemptAt });
