import { describe, expect, it } from '@jest/globals';
import {
  addressesOf,
  apiAddressesOf,
  inventoryAddresses,
  nodeAddressOf,
  SshSettings,
  sshSettingFaults,
} from './own-hosts.js';
import { settingRefusal } from './setting-faults.js';

const hosts = [
  { name: 'rack-1', address: '198.51.100.11' },
  { name: 'rack-2', address: '198.51.100.12', port: 2222, user: 'ops', zone: 'hall-a', labels: { rack: '7' } },
];
const fieldsOf = (settings: unknown): readonly string[] => sshSettingFaults(settings).map(({ field }) => field);

describe('the settings of your own hosts', () => {
  it('require only names and addresses', () => {
    expect(sshSettingFaults({ hosts })).toEqual([]);
    expect(SshSettings.parse({ hosts }).hosts[0]).toEqual({
      name: 'rack-1',
      address: '198.51.100.11',
      port: 22,
      user: 'root',
      zone: '',
      labels: {},
    });
  });

  it('name the address of a node if the host is reached at a different one', () => {
    const [host] = SshSettings.parse({ hosts: [{ ...hosts[0], privateAddress: '10.77.0.2' }] }).hosts;
    expect(nodeAddressOf(host!)).toBe('10.77.0.2');
    expect(addressesOf(host!)).toEqual(['198.51.100.11', '10.77.0.2']);
    expect(addressesOf(SshSettings.parse({ hosts }).hosts[0]!)).toEqual(['198.51.100.11']);
  });

  it('name every address that pod and service networks must avoid', () => {
    const settings = SshSettings.parse({
      hosts: [{ ...hosts[0], privateAddress: '10.77.0.2' }],
      apiEndpoint: '[fd00::7]:6443',
      profile: {
        source: { kind: 'files', location: 'https://user@10.9.9.9:8443/k8s' },
        imageRepository: 'registry.example.org/k8s',
      },
    });
    expect(inventoryAddresses('site', settings).map(({ address }) => address)).toEqual([
      '198.51.100.11',
      '10.77.0.2',
      'fd00::7',
      '10.9.9.9',
    ]);
  });

  it('may name one shared address, or one for each cluster', () => {
    expect(apiAddressesOf({})).toEqual([]);
    expect(apiAddressesOf({ apiAddress: '198.51.100.10' })).toEqual(['198.51.100.10']);
    expect(apiAddressesOf({ apiAddress: ['198.51.100.10', '198.51.100.20'] })).toHaveLength(2);
  });

  it.each([
    ['no hosts', { hosts: [] }, ['hosts']],
    ['an address twice', { hosts: [...hosts, { name: 'rack-3', address: '198.51.100.11' }] }, ['hosts[2].address']],
    [
      'an address twice, in another spelling',
      {
        hosts: [
          { name: 'six-1', address: 'fd00:0::1' },
          { name: 'six-2', address: 'FD00::0001' },
        ],
      },
      ['hosts[1].address'],
    ],
    [
      "a host's privateAddress as the address of another one",
      {
        hosts: [
          { ...hosts[0], privateAddress: '10.77.0.2' },
          { name: 'rack-2', address: '10.77.0.2' },
        ],
      },
      ['hosts[1].address'],
    ],
    [
      'a privateAddress twice',
      {
        hosts: [
          { ...hosts[0], privateAddress: '10.77.0.2' },
          { ...hosts[1], privateAddress: '10.77.0.2' },
        ],
      },
      ['hosts[1].privateAddress'],
    ],
    [
      "a host's privateAddress for the API",
      { hosts: [{ ...hosts[0], privateAddress: '10.77.0.2' }], apiAddress: '10.77.0.2' },
      ['apiAddress'],
    ],
    ['a name twice', { hosts: [...hosts, { name: 'rack-1', address: '198.51.100.13' }] }, ['hosts[2].name']],
    ['a setting that there is not', { hosts, apiAdress: '198.51.100.10' }, ['apiAdress']],
    ['one in a host', { hosts: [{ ...hosts[0], adress: 'x' }] }, ['hosts[0].adress']],
    [
      'a host name for an address',
      { hosts: [{ name: 'rack-1', address: 'rack-1.example.org' }] },
      ['hosts[0].address'],
    ],
    ['a host key of another form', { hosts: [{ ...hosts[0], hostKey: 'ssh-ed25519 AAAA' }] }, ['hosts[0].hostKey']],
    [
      'a label of Kubernetes',
      { hosts: [{ ...hosts[0], labels: { 'kubernetes.io/os': 'x' } }] },
      ['hosts[0].labels.kubernetes.io/os'],
    ],
    [
      'a proxy with a password',
      { hosts, profile: { proxy: { https: 'http://user:secret@10.0.0.1:3128' } } },
      ['profile.proxy.https'],
    ],
    ['a network that is none', { hosts, networkCidr: '198.51.100.0/33' }, ['networkCidr']],
    ['a name that is no RFC 1123 label', { hosts: [{ name: 'rack_1', address: '198.51.100.11' }] }, ['hosts[0].name']],
    [
      'an address for the API that is listed twice',
      { hosts, apiAddress: ['198.51.100.10', '198.51.100.10'] },
      ['apiAddress'],
    ],
    ["a host's address for the API", { hosts, apiAddress: '198.51.100.11' }, ['apiAddress']],
    [
      'the port of the API servers for the balancer',
      { hosts, apiAddress: '198.51.100.10', apiPort: 6443 },
      ['apiPort'],
    ],
    ['two ways to the API', { hosts, apiAddress: '198.51.100.10', apiEndpoint: 'lb:443' }, ['apiEndpoint']],
    ['an endpoint without a port', { hosts, apiEndpoint: 'lb.example.org' }, ['apiEndpoint']],
    ['an endpoint with a port that is none', { hosts, apiEndpoint: 'lb.example.org:70000' }, ['apiEndpoint']],
    ['a jump host without an address', { hosts, jump: { user: 'gate' } }, ['jump.address']],
    ['a user that is none', { hosts: [{ ...hosts[0], user: 'a b; rm' }] }, ['hosts[0].user']],
    ['a profile with something else in it', { hosts, profile: { cgroup: 'systemd' } }, ['profile.cgroup']],
  ])('are refused with the field of %s', (_what, settings, fields) => expect(fieldsOf(settings)).toEqual(fields));

  it.each([
    ['a name that is no RFC 1123 label', { hosts: [{ ...hosts[0], name: 'rack_1' }] }, 'host-name-invalid'],
    ['a name that is too long', { hosts: [{ ...hosts[0], name: 'r'.repeat(64) }] }, 'host-name-invalid'],
    ['a name twice', { hosts: [...hosts, { ...hosts[0], address: '198.51.100.13' }] }, 'host-repeated'],
    ['a virtual address twice', { hosts, apiAddress: ['198.51.100.10', '198.51.100.10'] }, 'api-address-taken'],
    ["a host's address as the virtual one", { hosts, apiAddress: '198.51.100.11' }, 'api-address-taken'],
    ['a load balancer without a port', { hosts, apiEndpoint: 'lb.example.org' }, 'api-endpoint-invalid'],
    ['a load balancer with port 70000', { hosts, apiEndpoint: 'lb.example.org:70000' }, 'api-endpoint-invalid'],
    ['equal ports in front of and behind it', { hosts, apiAddress: '198.51.100.10', apiPort: 6443 }, 'api-port-taken'],
    ['two ways to the API', { hosts, apiAddress: '198.51.100.10', apiEndpoint: 'lb:443' }, 'api-ambiguous'],
    ['a user that is none', { hosts: [{ ...hosts[0], user: 'a b; rm' }] }, 'settings-invalid'],
  ])('are refused with the code of %s [ORBITER 2]', (_what, settings, code) =>
    expect(sshSettingFaults(settings).map((fault) => settingRefusal('rack', fault).code)).toEqual([
      `connection.${code}`,
    ]),
  );

  it('report all faults at once', () => {
    expect(fieldsOf({ hosts: [{ name: 'Rack 1', address: 'x' }], networkCidr: 'y' })).toEqual([
      'hosts[0].name',
      'hosts[0].address',
      'networkCidr',
    ]);
  });
});
