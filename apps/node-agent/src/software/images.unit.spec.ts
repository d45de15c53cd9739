import type { MirrorImage } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { obsoleteImages, orderImages } from './images.js';

const image = (name: string, ...roles: MirrorImage['roles']): MirrorImage => ({
  name,
  reference: `registry.k8s.io/${name}:1`,
  path: `images/${name}.tar`,
  roles,
});
const CONTROL_PLANE = ['coredns', 'etcd', 'kube-apiserver', 'kube-proxy', 'pause', 'flannel'].map((name) =>
  ['etcd', 'kube-apiserver'].includes(name) ? image(name, 'control-plane') : image(name, 'control-plane', 'worker'),
);
const names = (images: readonly MirrorImage[]): readonly string[] => images.map(({ name }) => name);

describe('the images of a node', () => {
  it('are first those of its static pods, if it runs kubeadm init', () => {
    const { first, later } = orderImages(CONTROL_PLANE, true);
    expect(names(first)).toEqual(['pause', 'etcd', 'kube-apiserver']);
    expect(names(later)).toEqual(['kube-proxy', 'flannel', 'coredns']);
  });

  it('are imported while others prepare if it joins later, except the sandbox image', () => {
    const { first, later } = orderImages(CONTROL_PLANE, false);
    expect(names(first)).toEqual(['pause']);
    expect(names(later)).toEqual(['etcd', 'kube-apiserver', 'kube-proxy', 'flannel', 'coredns']);
  });

  it('are obsolete in other versions, except those of others and the sandbox', () => {
    const needed = [image('etcd', 'control-plane'), image('pause', 'control-plane')];
    const listed = ['etcd:1', 'etcd:0', 'pause:0', 'coredns/coredns:0'].map((name) => `registry.k8s.io/${name}`);
    const all = [...listed, 'localhost:5000/etcd:0', 'sha256:2a694b086b953ffb', ''].join('\n');
    expect(obsoleteImages(needed, all)).toEqual(['registry.k8s.io/etcd:0']);
  });
});
