import { goldenBeside } from '@fairlead/testing/golden';
import { describe, it } from '@jest/globals';
import { haproxyConfig } from './haproxy.config.js';
import { balancerKeeperScript } from './keeper.script.js';

const golden = goldenBeside(import.meta.url);

describe('the text that makes a balancer', () => {
  it('balances over API servers that say they are ready', () =>
    golden(
      'haproxy.cfg.golden',
      haproxyConfig({
        address: '198.18.7.222',
        port: 6443,
        healthPath: '/readyz',
        targets: [
          { name: 'demo-cp-1-aaaaa', address: '198.18.7.11', port: 6443 },
          { name: 'demo-cp-2-bbbbb', address: '198.18.7.12', port: 6443 },
        ],
      }),
    ));

  it('keeps it in the namespace of the hosts', () =>
    golden(
      'keeper.sh.golden',
      balancerKeeperScript({
        name: 'default.demo',
        folder: '/srv/state/balancers/default.demo',
        namespace: 'fairlead-0123abcd',
        bridge: 'br0',
        address: '198.18.7.222',
      }),
    ));
});
