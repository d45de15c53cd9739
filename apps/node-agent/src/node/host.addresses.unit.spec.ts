import { EVENTS } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { QUESTIONS } from '../../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS } from '../../../../test/recorded/recorded.js';
import { addressesIn } from './host.addresses.js';

const line = (at: number, device: string, address: string, scope = 'global'): string =>
  `${at}: ${device}    ${address.includes(':') ? 'inet6' : 'inet'} ${address} scope ${scope} ${device}\\       valid_lft forever preferred_lft forever`;

describe('the addresses of a host', () => {
  it.each(RECORDED_VERSIONS)(
    'with Kubernetes %s are those that others reach it by, as a real host prints them',
    (kubernetes) => {
      expect(addressesIn(recorded(kubernetes, QUESTIONS.addresses))).toEqual([
        expect.stringMatching(/^198\.18\.64\.\d+$/),
      ]);
    },
  );

  it('are those of all its interfaces, each once, IPv6 included [azimuth 21]', () =>
    expect(
      addressesIn(
        [
          line(2, 'eth1', '203.0.113.21/24'),
          line(3, 'eth0', '198.18.7.21/24'),
          line(3, 'eth0', '2001:DB8::21/64'),
          line(4, 'eth0.7', '198.18.7.21/24'),
          line(5, 'bond0', '192.0.2.4/32', 'global secondary'),
        ].join('\n'),
      ),
    ).toEqual(['192.0.2.4', '198.18.7.21', '2001:db8::21', '203.0.113.21']));

  it('are neither of loopback, nor link-local, nor temporary, nor of pods and the network plugin [azimuth 21]', () =>
    expect(
      addressesIn(
        [
          line(1, 'lo', '127.0.0.1/8', 'host'),
          line(2, 'eth0', 'fe80::1/64', 'link'),
          line(2, 'eth0', '2001:db8::5/64', 'global temporary dynamic'),
          ...['cni0', 'flannel.1', 'cali0a1b', 'vxlan.calico', 'cilium_host', 'lxc12ab', 'kilo0'].map((device, at) =>
            line(at + 3, device, `10.244.${at}.1/24`),
          ),
          ...['kube-ipvs0', 'nodelocaldns', 'veth12', 'docker0', 'br-1234'].map((device, at) =>
            line(at + 20, device, `10.96.${at}.1/32`),
          ),
        ].join('\n'),
      ),
    ).toEqual([]));

  it('are at most 16, and what is none is left out, however much a host prints', () => {
    const many = Array.from({ length: 5_000 }, (_, at) => line(2, 'eth0', `10.1.${at >> 8}.${at & 255}/8`));
    const found = addressesIn(many.join('\n'));
    expect(found).toHaveLength(16);
    const data = { uid: '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10', node: 'n', addresses: found };
    expect(EVENTS.NodeAddressesReported.data.safeParse(data).success).toBe(true);
    const hostile = [
      '2: eth0    inet 999.1.1.1/24 scope global',
      '2: eth0    inet $(reboot) scope global',
      'x'.repeat(99_999),
    ];
    expect(addressesIn(hostile.join('\n'))).toEqual([]);
  });
});
