import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { serverOf, serversIn } from './haproxy.state.rules.js';
import { haproxyConfig } from './haproxy.config.js';
import { balancerKeeperScript } from './keeper.script.js';

const golden = goldenBeside(import.meta.url);

describe('the files of a load balancer', () => {
  it('balance over the API servers whose health check succeeds [CB-Ladybug 15]', () =>
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

  it('keep it in the namespace of the hosts', () =>
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

describe('the servers of a running haproxy', () => {
  // Output of haproxy 2.6.12.
  const answer = [
    '1',
    '# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port',
    '3 control-planes 2 demo-cp-2-bbbbb 198.18.7.12 0 0 1 1 1 17 2 0 6 0 0 0 - 6443 - 0 0 - - 0',
    '3 control-planes 1 demo-cp-1-aaaaa 198.18.7.11 0 0 1 1 1 17 2 0 6 0 0 0 - 6443 - 0 0 - - 0',
    '',
    '',
  ].join('\n');

  it('are compared with its targets by name, address and port', () =>
    expect(serversIn(answer)).toEqual([
      serverOf({ name: 'demo-cp-1-aaaaa', address: '198.18.7.11', port: 6443 }),
      serverOf({ name: 'demo-cp-2-bbbbb', address: '198.18.7.12', port: 6443 }),
    ]));

  it('are empty for a response without servers, and for an invalid one', () => {
    expect(serversIn(answer.split('\n').slice(0, 2).join('\n'))).toEqual([]);
    expect(serversIn("Can't find backend.\n")).toEqual([]);
  });
});
