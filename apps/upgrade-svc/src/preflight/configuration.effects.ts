import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterFacts, Component, ComponentSettings, Unread } from '../rules/cluster.facts.js';
import { configurationSettings, kubeadmConfigOf, kubeletFieldsOf, kubeProxyServerOf } from './component.settings.js';

/** Reads one thing; what cannot be read is noted with the rule that needs it, and `otherwise` stands in its place. */
export type Reader = <T>(at: Omit<Unread, 'message'>, otherwise: T, read: () => Promise<T>) => Promise<T>;

const KUBE_SYSTEM = 'kube-system';

type Configured = Pick<ClusterFacts, 'settings' | 'kubeadm' | 'corefile' | 'installed'>;
type Data = Readonly<Record<string, string>> | undefined;

const settingsIn = (component: Component, name: string, text: string | undefined): readonly ComponentSettings[] =>
  text === undefined || text === '' ? [] : [configurationSettings(component, `ConfigMap ${KUBE_SYSTEM}/${name}`, text)];

/** What the cluster's own objects set for components, and what kubeadm installed for the whole cluster. */
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
    // A cluster may do without kube-proxy.
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
