import { SshSettings } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { unreachableNats, type Reach } from './nats.reach.js';

const settings = (...addresses: string[]) =>
  SshSettings.parse({ hosts: addresses.map((address, index) => ({ name: `rack-${index + 1}`, address })) });
const loopback: Reach = { agentNatsUrls: ['nats://127.0.0.1:4222'], ownAddresses: ['127.0.0.1', '192.0.2.1'] };

describe('a connection whose hosts are other machines', () => {
  it.each([['nats://127.0.0.1:4222'], ['tls://localhost:4222'], ['nats://[::1]:4222']])(
    'is refused while agents get %s, with the option that helps',
    (url) =>
      expect(
        unreachableNats('site', settings('192.0.2.1', '198.51.100.7'), { ...loopback, agentNatsUrls: [url] }),
      ).toMatchObject([
        {
          code: 'connection.nats-unreachable',
          field: 'settings.hosts[1].address',
          message: expect.stringContaining(url),
          help: expect.stringContaining('--nats-address'),
        },
      ]),
  );

  it.each([
    ['hosts that are this machine', settings('127.0.0.1', '192.0.2.1'), loopback],
    ['a NATS that they reach', settings('198.51.100.7'), { ...loopback, agentNatsUrls: ['tls://192.0.2.1:4222'] }],
    ['a NATS that no one said where', settings('198.51.100.7'), { ...loopback, agentNatsUrls: undefined }],
  ])('is taken with %s', (_what, given, reach) => expect(unreachableNats('site', given, reach)).toEqual([]));
});
