import { releaseOf, ExternalFailure, type KubernetesRelease, type NodeName } from '@fairlead/contracts';
import { NO_OWN_RELEASES, type OwnReleases } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { uid } from '../nodes/nodes.fixtures.js';
import { DesiredEffects } from './desired.effects.js';
import type { SetDesired } from './desired.reconciler.js';

const NODE = 'demo-w-1-aaaaa' as NodeName;

const added: KubernetesRelease = { ...releaseOf('v1.34.11')!, version: 'v1.34.12', containerd: '1.7.29', sha256: null };
const OWN: OwnReleases = {
  ...NO_OWN_RELEASES,
  releases: new Map([['v1.34.12', { release: added, origin: 'added' }]]),
};

/** The desired software that is decided for the node. */
const saidFor = async (version: string, own: OwnReleases, software: SetDesired['software'] = {}) => {
  const said: unknown[] = [];
  const handle = (_decider: unknown, _stream: unknown, command: { readonly data: unknown }) => {
    said.push(command.data);
    return Promise.resolve({});
  };
  const effects = new DesiredEffects(handle as never, { latest: () => Promise.resolve(own) });
  const data: SetDesired = { uid, nodes: [NODE], version, software };
  const task = { namespace: 'default', cluster: 'demo', data, signal: new AbortController().signal };
  await effects.setDesiredVersions(task as never);
  return said;
};

describe('the software of a new node', () => {
  it('is that of the built-in release, which its agent knows', async () => {
    const software = { containerd: '1.7.24', kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' };
    expect(await saidFor('v1.34.4', OWN)).toEqual([
      { uid, node: NODE, software, changesAllowed: true, changesAllowedUntil: 'NodeReady' },
    ]);
  });

  it('is that of a release of the installation, which its agent receives', async () => {
    expect(await saidFor('v1.34.12', OWN)).toMatchObject([
      { software: { containerd: '1.7.29', kubelet: '1.34.12' }, releases: [added] },
    ]);
  });

  it('includes what a surge adds to its release', async () => {
    expect(await saidFor('v1.34.4', OWN, { kubelet: '1.34.12', kubeadm: '1.34.12' })).toMatchObject([
      { software: { containerd: '1.7.24', kubelet: '1.34.12' }, releases: [added] },
    ]);
  });

  it('cannot be decided for an unknown release', () =>
    expect(saidFor('v1.2.3', NO_OWN_RELEASES)).rejects.toThrow(ExternalFailure));
});
