import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterFacts, Unread } from '../rules/cluster.facts.js';
import { configurationSettings, kubeadmConfigOf } from './component.settings.js';

/** Reads one thing; what cannot be read is noted with the rule that needs it, and `otherwise` stands in its place. */
export type Reader = <T>(at: Omit<Unread, 'message'>, otherwise: T, read: () => Promise<T>) => Promise<T>;

const KUBE_SYSTEM = 'kube-system';

/** What the cluster's own objects set for components: kubeadm-config, kubelet-config, kube-proxy and coredns of kube-system. */
export const configurationOf = async (
  cluster: Pick<UpgradeCluster, 'configMap'>,
  read: Reader,
): Promise<Pick<ClusterFacts, 'settings' | 'kubeadm' | 'corefile'>> => {
  const textOf = async (name: string, key: string): Promise<string | undefined> =>
    (await cluster.configMap(KUBE_SYSTEM, name))?.[key];
  const [kubeadm, kubelet, kubeProxy, corefile] = await Promise.all([
    read({ what: 'kubeadm-config', rule: 'B11' }, undefined, async () =>
      kubeadmConfigOf((await textOf('kubeadm-config', 'ClusterConfiguration')) ?? ''),
    ),
    read({ what: 'kubelet-config', rule: 'B5' }, undefined, async () => {
      const text = await textOf('kubelet-config', 'kubelet');
      return text && configurationSettings('kubelet', `ConfigMap ${KUBE_SYSTEM}/kubelet-config`, text);
    }),
    // A cluster may do without kube-proxy.
    read({ what: 'kube-proxy', rule: 'B5' }, undefined, async () => {
      const text = await textOf('kube-proxy', 'config.conf');
      return text && configurationSettings('kube-proxy', `ConfigMap ${KUBE_SYSTEM}/kube-proxy`, text);
    }),
    read({ what: 'coredns', rule: 'B12' }, undefined, () => textOf('coredns', 'Corefile')),
  ]);
  return {
    corefile: corefile ?? null,
    settings: [...(kubeadm?.settings ?? []), ...(kubelet ? [kubelet] : []), ...(kubeProxy ? [kubeProxy] : [])],
    kubeadm: kubeadm?.extras ?? null,
  };
};
