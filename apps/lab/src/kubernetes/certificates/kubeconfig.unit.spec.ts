import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { kubeconfigText } from './kubeconfig.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a kubeconfig of a simulated cluster', () => {
  it.each(['demo', 'true', '12', 'a: b # c'])("matches kubeadm's output for a cluster named %j", (cluster) => {
    const user = 'system:node:demo-cp-1';
    const text = kubeconfigText({
      cluster,
      server: 'https://[fd00::1]:6443',
      caPem: 'authority\n',
      user,
      credentials: { certPem: 'certificate\n', keyPem: 'key\n' },
    });
    expect(parse(text)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      preferences: {},
      clusters: [
        {
          name: cluster,
          cluster: { server: 'https://[fd00::1]:6443', 'certificate-authority-data': base64('authority\n') },
        },
      ],
      users: [
        {
          name: user,
          user: { 'client-certificate-data': base64('certificate\n'), 'client-key-data': base64('key\n') },
        },
      ],
      contexts: [{ name: `${user}@${cluster}`, context: { cluster, user } }],
      'current-context': `${user}@${cluster}`,
    });
  });
});
