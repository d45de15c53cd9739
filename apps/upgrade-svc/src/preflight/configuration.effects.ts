import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterFacts, Component, ComponentSettings, Unread } from '../rules/cluster.facts.js';
import { configurationSettings, kubeadmConfigOf, kubeletFieldsOf, kubeProxyServerOf } from './component.settings.js';

/** Reads one object; on failure, records the object with the rule that needs it and returns `otherwise`. */
export type Reader = <T>(at: Omit<Unread, 'message'>, otherwise: T, read: () => Promise<T>) => Promise<T>;

const KUBE_SYSTEM = 'kube-system';

type Configured = Pick<ClusterFacts, 'settings' | 'kubeadm' | 'corefile' | 'installed'>;
type Data = Readonly<Record<string, string>> | undefined;

const settingsIn = (component: Component, name: string, text: string | undefined): readonly ComponentSettings[] =>
  text === undefined || text === '' ? [] : [configurationSettings(component, `ConfigMap ${KUBE_SYSTEM}/${name}`, text)];

/** Component settings in the cluster's own objects, and the cluster-wide addons that kubeadm installed. */
export const configurationOf = async (
  cluster: Pick<UpgradeCluster, 'configMap' | 'template'>,
  read: Reader,
): Promise<Configured> => {
  const dataOf = (name: string): Promise<Data> => cluster.configMap(KUBE_SYSTEM, name);
  const [kubeadm, kubelet, kubeProxy, corefile, templates] = await Promise.all([
    read({ what: 'kubeadm-config', rule: 'B11' }, undefined, async () =>
      kubeadmConfigOf((await dataOf('kubeadm-config'))?.['ClusterConfiguration'] ?? ''),
    ),
    read({ what: 'kubelet-config', rule: 'B5' }, undefined, async () => {
      const text = (await dataOf('kubelet-config'))?.['kubelet'];
      return { settings: settingsIn('kubelet', 'kubelet-config', text), fields: kubeletFieldsOf(text ?? '') };
    }),
    // A cluster may run without kube-proxy.
    read({ what: 'kube-proxy', rule: 'B5' }, undefined, async () => {
      const data = await dataOf('kube-proxy');
      const kubeconfig = data?.['kubeconfig.conf'];
      return {
        settings: settingsIn('kube-proxy', 'kube-proxy', data?.['config.conf']),
        config: data && {
          keys: Object.keys(data),
          server: kubeconfig === undefined ? null : kubeProxyServerOf(kubeconfig),
        },
      };
    }),
    read({ what: 'coredns', rule: 'B12' }, undefined, async () => (await dataOf('coredns'))?.['Corefile']),
    read({ what: 'installed', rule: 'B11' }, undefined, async () => {
      const [coredns, proxy] = await Promise.all([
        cluster.template('Deployment', KUBE_SYSTEM, 'coredns'),
        cluster.template('DaemonSet', KUBE_SYSTEM, 'kube-proxy'),
      ]);
      return { coredns: coredns ?? null, 'kube-proxy': proxy ?? null };
    }),
  ]);
  return {
    corefile: corefile ?? null,
    settings: [...(kubeadm?.settings ?? []), ...(kubelet?.settings ?? []), ...(kubeProxy?.settings ?? [])],
    kubeadm: kubeadm?.extras ?? null,
    installed:
      kubeadm === undefined || templates === undefined
        ? null
        : {
            config: kubeadm.installs,
            templates,
            kubeProxyConfig: kubeProxy?.config ?? null,
            kubeletFields: kubelet?.fields ?? null,
          },
  };
};
