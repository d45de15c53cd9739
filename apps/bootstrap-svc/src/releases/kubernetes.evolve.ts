import { compareVersions, without, type StoredEvent } from '@fairlead/contracts';

/** The running and the declared Kubernetes version of a cluster. */
export interface KubernetesOf {
  readonly running: string;
  readonly declared: string;
  /** The targets of open upgrades. */
  readonly targets: Readonly<Record<string, string>>;
}

/** An upgrade is declared or in progress. */
export const isBeingUpgraded = ({ running, declared }: KubernetesOf): boolean =>
  compareVersions(running, declared) !== 0;

const ended = (before: KubernetesOf, upgradeId: string, running: string): KubernetesOf => ({
  ...{ running, declared: running },
  targets: without(before.targets, upgradeId),
});

export const kubernetesAfter = (before: KubernetesOf, event: StoredEvent): KubernetesOf => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      return { ...before, declared: event.data.spec.version };
    }
    case 'UpgradeRequested': {
      const { upgradeId, target, mode } = event.data;
      if (target.kubernetes === undefined || mode === 'dry-run') return before;
      return { ...before, targets: { ...before.targets, [upgradeId]: target.kubernetes } };
    }
    case 'RolloutStarted':
      return { ...before, declared: before.targets[event.data.upgradeId] ?? before.declared };
    case 'UpgradeRejected':
    case 'RolloutAborted':
      return before.targets[event.data.upgradeId] === undefined
        ? before
        : ended(before, event.data.upgradeId, before.running);
    case 'RolloutCompleted': {
      const version = before.targets[event.data.upgradeId];
      return version === undefined ? before : ended(before, event.data.upgradeId, version);
    }
    default:
      return before;
  }
};
