import { imagesOf, type KubernetesRelease } from '@fairlead/contracts';

export const tagOf = (image: string): string => image.replace(/@.*/, '').split(':').at(-1) ?? '';

/** Tags by component, as in the manifests and addons of this release's kubeadm. */
export const tagsOf = (release: KubernetesRelease): ReadonlyMap<string, string> =>
  new Map(imagesOf(release).map(({ name, reference }) => [name, tagOf(reference)]));
