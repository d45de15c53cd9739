import { SshSettings } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { inventoryFaults } from './inventory.rules.js';
import type { Reach } from './nats.reach.js';

const reach: Reach = { agentNatsUrls: ['tls://198.51.100.254:4222'], ownAddresses: ['127.0.0.1', '192.0.2.1'] };
const hosts = [
  { name: 'rack-1', address: '198.51.100.11' },
  { name: 'rack-2', address: '198.51.100.33', privateAddress: '10.77.0.2' },
];
const codes = (settings: Record<string, unknown>) =>
  inventoryFaults('site', SshSettings.parse({ hosts, ...settings }), reach).map(({ code, field }) => [code, field]);

describe('the addresses of an inventory', () => {
  it('are taken as they are without a declared network', () => {
    expect(codes({})).toEqual([]);
    expect(codes({ apiAddress: '198.51.100.99' })).toEqual([]);
  });

  it.each([
    ['NATS', '198.51.100.254', /NATS, which the agents of the hosts connect to, uses it/],
    ['the machine of Fairlead', '192.0.2.1', /the machine that Fairlead runs on uses it/],
  ])('of the API are refused when %s has one', (_who, apiAddress, message) =>
    expect(inventoryFaults('site', SshSettings.parse({ hosts, apiAddress }), reach)).toMatchObject([
      { code: 'connection.api-address-in-use', field: 'settings.apiAddress', message: expect.stringMatching(message) },
    ]),
  );

  it('are all in the declared network: those that nodes have, not those that SSH goes to', () => {
    expect(codes({ networkCidr: '10.55.0.0/24', apiAddress: '198.51.100.99' })).toEqual([
      ['connection.outside-network', 'settings.hosts[0].address'],
      ['connection.outside-network', 'settings.hosts[1].privateAddress'],
      ['connection.outside-network', 'settings.apiAddress'],
    ]);
    expect(codes({ networkCidr: '198.51.100.0/24' })).toEqual([
      ['connection.outside-network', 'settings.hosts[1].privateAddress'],
    ]);
    const natted = [{ name: 'rack-2', address: '198.51.100.33', privateAddress: '10.77.0.2' }];
    expect(codes({ hosts: natted, networkCidr: '10.77.0.0/24' })).toEqual([]);
  });
});
