import { describe, expect, it } from '@jest/globals';
import { KUBERNETES_RELEASES, releaseOf, type KubernetesRelease } from '@fairlead/contracts';
import { isOlder } from './go.js';
import { parseOptions } from './options.js';
import { corednsRecipe, etcdOf, etcdRecipe, goModOf, goVersionOf, kubernetesRecipe } from './recipes.js';

const GO_MOD = `module k8s.io/kubernetes

go 1.24.0

godebug default=go1.24

require (
	github.com/blang/semver/v4 v4.0.0
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
)

require (
	go.uber.org/multierr v1.11.0 // indirect
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
)
`;

const release = (version: string): KubernetesRelease => {
  const found = releaseOf(version);
  if (found === undefined) throw new Error(`${version} is a known release`);
  return found;
};

describe('the temporary module', () => {
  it('requires all requirements of Kubernetes, and its staging modules as they are published', () => {
    expect(goModOf(kubernetesRecipe('v1.34.4'), GO_MOD)).toBe(`module fairlead.dev/build

go 1.24.0

require k8s.io/kubernetes v1.34.4
require (
	github.com/blang/semver/v4 v4.0.0
	k8s.io/klog/v2 v2.130.1
	go.uber.org/multierr v1.11.0
)
replace (
	k8s.io/api => k8s.io/api v0.34.4
)
`);
  });

  it('has the language version of the built module, which determines the compatibility behaviour of Go', () => {
    expect(goModOf(corednsRecipe('v1.12.1'), 'module x\n\ngo 1.23.0\n')).toBe(
      'module fairlead.dev/build\n\ngo 1.23.0\n\n',
    );
    expect(goVersionOf('go 1.22\n')).toBe('1.22');
  });
});

describe('etcd', () => {
  it('is the newest available patch of the minor version that kubeadm names, and the result states the substitution', () => {
    expect(etcdOf(release('v1.33.13'))).toEqual({ name: 'etcd', version: '3.5.35', standsInFor: '3.5.24' });
    expect(etcdOf(release('v1.34.4'))).toEqual({ name: 'etcd', version: '3.6.8', standsInFor: '3.6.5' });
  });

  it('is not substituted if the version that kubeadm names is available', () => {
    expect(etcdOf(release('v1.36.3'))).toEqual({ name: 'etcd', version: '3.6.8' });
  });

  it('never changes its minor version, which would change the data format', () => {
    for (const each of KUBERNETES_RELEASES) {
      const minor = (text: string) => text.split('.').slice(0, 2).join('.');
      expect(minor(etcdOf(each).version)).toBe(minor(each.etcd));
    }
  });

  it('includes both of its tools', () => {
    expect(Object.values(etcdRecipe('3.6.8').programs)).toEqual(['etcd', 'etcdctl', 'etcdutl']);
  });
});

describe('a Go version', () => {
  it.each([
    ['1.24.0', '1.26.8', true],
    ['1.26.8', '1.24.0', false],
    ['1.24', '1.24.0', false],
    ['1.9', '1.21', true],
    ['1.27rc1', '1.26.0', false],
  ])('%s is older than %s: %s', (version, than, expected) => expect(isOlder(version, than)).toBe(expected));
});

describe('the command line', () => {
  it('accepts versions with and without a leading v', () => {
    const { releases } = parseOptions(['1.33.13', 'v1.34.4']);
    expect(releases.map(({ version }) => version)).toEqual(['v1.33.13', 'v1.34.4']);
  });

  it('refuses versions that are not in the catalogue, and names the file where versions are added', () => {
    expect(() => parseOptions(['v1.29.0'])).toThrow(/not in the catalogue.*software\.ts/);
    expect(() => parseOptions(['--packages', 'fedora-42'])).toThrow(/debian-13/);
    expect(() => parseOptions(['--outt', 'x'])).toThrow(/--help/);
  });
});
