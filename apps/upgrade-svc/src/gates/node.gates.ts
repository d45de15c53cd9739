import { EXTERNAL_ETCD, releaseOf } from '@fairlead/contracts';
import type { Gate } from './gate.js';
import { tagOf, tagsOf } from './images.js';
import { fails, holds, nodeOf } from './verdict.js';

/**
 * kube-apiserver, kube-controller-manager, kube-scheduler, and etcd or, with an external one, the pod with its tools.
 */
const STATIC_PODS = 4;

/** The agent sets the image of etcd's tools once the member next to them runs it. */
const imageNameOf = (component: string): string => (component === EXTERNAL_ETCD.component ? 'etcd' : component);

export const staticPodsAtTarget: Gate = async (look) => {
  const node = nodeOf(look);
  // They have kubeadm's version; the kubelet may follow in a later pass (C6, G5).
  const kubeadm = look.software['kubeadm'] ?? look.software['kubelet'];
  const release = kubeadm === undefined ? look.release : releaseOf(`v${kubeadm}`, look.releases);
  if (release === undefined) return fails(`Fairlead knows no release ${String(kubeadm)}`);
  const tags = tagsOf(release);
  const pods = (await look.cluster.staticPods()).filter((pod) => pod.node === node);
  const images = Object.fromEntries(pods.map(({ labels, image }) => [labels['component'] ?? '', image]));
  const older = pods.filter(({ labels, image }) => {
    const tag = tags.get(imageNameOf(labels['component'] ?? ''));
    return tag !== undefined && tagOf(image) !== tag;
  });
  const unready = pods.filter(({ ready, deleting }) => !ready || deleting);
  const facts = { images };
  if (pods.length < STATIC_PODS) return fails(`${pods.length} of ${STATIC_PODS} static pods exist`, facts);
  if (older.length > 0)
    return fails(
      `not yet at ${release.version}: ${older.map(({ labels, image }) => `${labels['component']} runs ${image}`).join(', ')}`,
      facts,
    );
  return unready.length === 0
    ? holds(facts)
    : fails(`not Ready: ${unready.map(({ labels }) => labels['component']).join(', ')}`, facts);
};

export const apiServerAnswers: Gate = async (look) => {
  const node = nodeOf(look);
  const failing = await look.cluster.failingChecksOn(node);
  return failing.length === 0 ? holds() : fails(`/readyz of ${node} fails: ${failing.join(', ')}`, { failing });
};

export const nodeReady: Gate = async (look) => {
  const name = nodeOf(look);
  const view = await look.cluster.node(name);
  if (view === undefined) return fails(`Kubernetes does not know ${name}`);
  const facts = { kubeletVersion: view.kubeletVersion };
  const desired = look.software['kubelet'];
  if (!view.ready) return fails(`${name} is not Ready: ${view.message}`, facts);
  return desired !== undefined && view.kubeletVersion !== `v${desired}`
    ? fails(`${name} runs kubelet ${view.kubeletVersion}, not v${desired}`, facts)
    : holds(facts);
};

export const daemonSetsReady: Gate = async (look) => {
  const node = nodeOf(look);
  const pods = (await look.cluster.podsOn(node)).filter(({ controller }) => controller?.kind === 'DaemonSet');
  const unready = pods.filter(({ ready }) => !ready).map(({ namespace, name }) => `${namespace}/${name}`);
  const facts = { pods: pods.length };
  return unready.length === 0 ? holds(facts) : fails(`not Ready: ${unready.join(', ')}`, { ...facts, unready });
};
