import { describe, expect, it } from '@jest/globals';
import { ParseFailure, parseKubeadmRefusal } from './index.js';

const refusal = (text: string) => parseKubeadmRefusal(text, { lengthMax: 16_384 });

describe('The reasons for which kubeadm refuses an upgrade', () => {
  it('are the failed checks with their messages, without the lines around them', () =>
    expect(
      refusal(
        [
          'W1128 23:44:30.854356   26027 constants.go:621] Using dry-run directory /var/lib/fairlead/kubeadm-dry-run',
          'error: error execution phase preflight: [preflight] Some fatal errors occurred:',
          "\t[ERROR CoreDNSUnsupportedPlugins]: start version '1.12.1' not supported",
          'plugin "k8s_gateway" is unsupported',
          '\t[ERROR ControlPlaneNodesReady]: there are NotReady control-planes in the cluster: [cp-2]',
          '[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`',
          'To see the stack trace of this error execute with --v=5 or higher',
        ].join('\n'),
      ),
    ).toEqual({
      checks: ['CoreDNSUnsupportedPlugins', 'ControlPlaneNodesReady'],
      words: [
        `CoreDNSUnsupportedPlugins: start version '1.12.1' not supported plugin "k8s_gateway" is unsupported`,
        'ControlPlaneNodesReady: there are NotReady control-planes in the cluster: [cp-2]',
      ],
    }));

  it('keep plugins that are listed on separate lines (kubeadm#2830)', () =>
    expect(
      refusal(
        [
          '[preflight] Some fatal errors occurred:',
          '\t[ERROR CoreDNSUnsupportedPlugins]: CoreDNS cannot migrate the following plugins:',
          '[Plugin "grpc" is unsupported by this migration tool in 1.9.3.]',
          '[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`',
        ].join('\n'),
      ),
    ).toEqual({
      checks: ['CoreDNSUnsupportedPlugins'],
      words: [
        'CoreDNSUnsupportedPlugins: CoreDNS cannot migrate the following plugins: [Plugin "grpc" is unsupported by this migration tool in 1.9.3.]',
      ],
    }));

  it('are the list of reasons why the version is impossible', () =>
    expect(
      refusal(
        [
          'error: error execution phase preflight: [upgrade/version] FATAL: the --version argument is invalid due to these fatal errors:',
          '',
          '\t- Specified version to upgrade to "v1.36.0" is too high; kubeadm can upgrade only 1 minor version at a time',
          '',
          'Please fix the misalignments highlighted above and try upgrading again',
          'To see the stack trace of this error execute with --v=5 or higher',
        ].join('\n'),
      ),
    ).toEqual({
      checks: [],
      words: [
        'Specified version to upgrade to "v1.36.0" is too high; kubeadm can upgrade only 1 minor version at a time',
      ],
    }));

  it('are the last sentence otherwise, and bounded', () => {
    expect(refusal('[upgrade] working\nerror: unable to fetch the kubeadm-config ConfigMap: nope\n')).toEqual({
      checks: [],
      words: ['unable to fetch the kubeadm-config ConfigMap: nope'],
    });
    expect(refusal('panic: x\n')).toEqual({ checks: [], words: ['panic: x'] });
    const many = Array.from({ length: 40 }, (_, at) => `\t[ERROR Check${at}]: ${'x'.repeat(300)}\n${'y'.repeat(400)}`);
    const { checks, words } = refusal(many.join('\n').slice(0, 16_384));
    expect([checks.length, words.length]).toEqual([10, 10]);
    expect(Math.max(...words.map(({ length }) => length))).toBe(501);
    expect(() => parseKubeadmRefusal('x'.repeat(11), { lengthMax: 10 })).toThrow(ParseFailure);
  });
});
