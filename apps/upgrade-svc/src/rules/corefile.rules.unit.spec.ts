import { describe, expect, it } from '@jest/globals';
import { b12Corefile, unsupportedIn } from './corefile.rules.js';

/** As written by kubeadm 1.34. */
const KUBEADMS = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`;
const PATH = ['v1.34.4', 'v1.35.4'];

describe('B12 kubeadm can migrate the Corefile', () => {
  it("accepts kubeadm's own Corefile, and everything that its library knows", () => {
    expect(b12Corefile(KUBEADMS, PATH)).toEqual([]);
    const own =
      'example.org:53 {\n  forward . 10.0.0.53\n  rewrite name a b\n  hosts {\n    10.0.0.1 host.example\n    fallthrough\n  }\n}\n';
    expect(b12Corefile(`${KUBEADMS}${own}`, PATH)).toEqual([]);
  });

  it('rejects an unknown plugin by name', () =>
    expect(b12Corefile(KUBEADMS.replace('    loop\n', '    k8s_gateway example.org\n    loop\n'), PATH)).toMatchObject([
      {
        rule: 'B12',
        severity: 'refuse',
        sentence: 'kubeadm cannot migrate the Corefile to CoreDNS 1.13.1: it does not know k8s_gateway',
        help: expect.stringContaining('edit configmap coredns'),
      },
    ]));

  it('rejects an unknown option of a known plugin, once', () => {
    const twice = KUBEADMS.replaceAll('max_concurrent 1000', 'hedge 5ms\n       hedge 6ms');
    expect(unsupportedIn(twice, '1.13.1')).toEqual(['hedge of forward']);
  });

  it('ignores comments, and accepts any Corefile if CoreDNS is unchanged', () => {
    expect(unsupportedIn(`# k8s_gateway\n${KUBEADMS.replace('loop', '# k8s_gateway')}`, '1.13.1')).toEqual([]);
    const unknown = '.:53 {\n  k8s_gateway\n}\n';
    expect(b12Corefile(unknown, ['v1.34.4'])).toEqual([]);
    expect(b12Corefile(unknown, [])).toEqual([]);
    expect(b12Corefile(null, PATH)).toEqual([]);
  });

  it.each(['', '}', '{'.repeat(1_000), '.:53 {', 'a b c', '\u0000'])('parses any text: %j', (text) =>
    expect(() => unsupportedIn(text, '1.13.1')).not.toThrow(),
  );
});
