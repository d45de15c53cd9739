import type { SecretRef } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ClusterAccess } from './cluster.access.js';
import type { KubernetesApi, UpgradeCluster } from './kubernetes.ports.js';

describe('the access to a cluster', () => {
  let passedMs: number;
  let sealed: string;
  let used: string[];
  let access: ClusterAccess;

  beforeEach(() => {
    // The cache reads this clock, at most once a millisecond.
    passedMs = 1;
    jest.spyOn(performance, 'now').mockImplementation(() => passedMs);
    sealed = 'before';
    used = [];
    const api: KubernetesApi = {
      of: async ({ kubeconfig }) => {
        used.push(kubeconfig);
        return {} as UpgradeCluster;
      },
      forget: () => undefined,
      close: () => undefined,
    };
    access = new ClusterAccess(api, { get: async (_ref: SecretRef) => sealed });
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const useFor = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await access.of('uid', 'demo');
      passedMs += 1_000;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };

  it('reads a kubeconfig that was sealed again within a minute, even while it is in constant use', async () => {
    await useFor(5);
    sealed = 'renewed';
    await useFor(65);
    expect(used[0]).toBe('before');
    expect(used.at(-1)).toBe('renewed');
  });
});
