import { describe, expect, it } from '@jest/globals';
import { cgroupV1On, kubeletSettingsIn, kubeletSettingsOn } from './kubelet.settings.js';

const NONE = { extraArgs: undefined, patch: undefined, config: undefined };

describe('the kubelet settings of a node', () => {
  it('are undefined if no file sets anything', () => {
    expect(kubeletSettingsIn(NONE)).toBeUndefined();
    const kubeadms = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nsyncFrequency: 0s\n';
    expect(kubeletSettingsIn({ ...NONE, extraArgs: '# KUBELET_EXTRA_ARGS=--v=4\n', config: kubeadms })).toBeUndefined();
  });

  it('are the flags of KUBELET_EXTRA_ARGS by name, and its feature gates', () =>
    expect(
      kubeletSettingsIn({
        ...NONE,
        extraArgs:
          'KUBELET_EXTRA_ARGS=--old\nKUBELET_EXTRA_ARGS="--pod-infra-container-image=registry/pause:3.9 --max-pods 50 --feature-gates=A=true,B=False,nonsense"\n',
      }),
    ).toEqual({
      flags: ['pod-infra-container-image', 'max-pods'],
      gates: { A: true, B: false },
      config: {},
      fields: {},
    }));

  it("are the feature gates of a join's patch and of the configuration itself", () =>
    expect(
      kubeletSettingsIn({
        ...NONE,
        patch: 'featureGates: { Patched: true }',
        config: 'featureGates:\n  Patched: true\n  ByHand: false\n',
      }),
    ).toEqual({ flags: [], gates: { Patched: true }, config: { Patched: true, ByHand: false }, fields: {} }));

  it('are digests of the other fields of its configuration, except those that kubeadm patches to the same value', () => {
    const config =
      'maxPods: 50\nfailSwapOn: false\nevictionHard: { memory.available: 1Gi }\nfeatureGates: { A: true }\n';
    const fields = (patch: string) => kubeletSettingsIn({ ...NONE, patch, config })?.fields;
    const digest = expect.stringMatching(/^[\da-f]{8}$/);
    expect(fields('failSwapOn: false\n')).toEqual({ maxPods: digest, 'evictionHard.memory.available': digest });
    expect(Object.keys(fields('failSwapOn: true\n') ?? {})).toContain('failSwapOn');
    expect(JSON.stringify(kubeletSettingsIn({ ...NONE, config }))).not.toContain('1Gi');
  });

  it.each(['{', 'featureGates: [1]', 'featureGates: { A: maybe }', '- 1', '', 'null'])(
    'are undefined if a file does not belong to the kubelet: %s',
    (text) => expect(kubeletSettingsIn({ extraArgs: text, patch: text, config: text })).toBeUndefined(),
  );

  it('are bounded', () => {
    const words = Array.from({ length: 1_000 }, (_, at) => `--flag-${at}`).join(' ');
    expect(
      kubeletSettingsIn({ ...NONE, extraArgs: `KUBELET_EXTRA_ARGS=${words} --${'x'.repeat(500)}` })?.flags,
    ).toHaveLength(100);
  });

  it('are read from the files that the unit of the kubelet and kubeadm use', async () => {
    const asked: string[] = [];
    await kubeletSettingsOn({
      readFile: async (path) => {
        asked.push(path);
        return undefined;
      },
    });
    expect(asked).toEqual([
      '/etc/default/kubelet',
      '/etc/fairlead/kubeadm-patches/kubeletconfiguration0+merge.yaml',
      '/var/lib/kubelet/config.yaml',
    ]);
  });
});

describe('cgroup v1', () => {
  const HYBRID = 'tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n';
  const on = (mounts: string | undefined, config?: string) =>
    cgroupV1On({ readFile: async (path) => (path === '/proc/self/mounts' ? mounts : config) });

  it('is reported unless the mount that kubelets look at is of v2, or not known', async () => {
    expect(await on(HYBRID)).toBe('fails');
    expect(await on('cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n')).toBeUndefined();
    expect(await on(undefined)).toBeUndefined();
  });

  it('is one on which the kubelet runs if its configuration says so', async () => {
    expect(await on(HYBRID, 'cgroupDriver: systemd\nfailCgroupV1: false\n')).toBe('runs');
    expect(await on(HYBRID, 'failCgroupV1: true\n')).toBe('fails');
  });
});
