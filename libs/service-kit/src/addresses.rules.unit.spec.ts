import { describe, expect, it } from '@jest/globals';
import { faultOfAddress, parseRanges } from './addresses.rules.js';

const fault = (address: string, allowed = '', port?: number): string | undefined =>
  faultOfAddress(address, parseRanges(allowed).ranges, port);

describe('The address of a gate', () => {
  it.each(['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.0', '2606:4700::1111', '::ffff:1.1.1.1'])(
    '%s is public',
    (address) => expect(fault(address)).toBeUndefined(),
  );

  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['::ffff:192.168.1.1', 'private'],
    ['fc00::1', 'private'],
    ['fd12:3456::1', 'private'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['::', 'unspecified'],
    ['255.255.255.255', 'broadcast'],
    ['100.64.0.1', 'shared'],
    ['169.254.169.254', 'metadata'],
    ['::ffff:169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['fd00:0ec2:0::0254', 'metadata'],
    ['192.0.2.1', 'reserved'],
    ['198.18.0.1', 'reserved'],
    ['240.0.0.1', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['::127.0.0.1', 'reserved'],
    ['::7f00:1', 'reserved'],
    ['64:ff9b::7f00:1', 'reserved'],
    ['64:ff9b:1::7f00:1', 'reserved'],
    ['2002:7f00:1::', 'reserved'],
    ['2001:0:7f00:1::', 'reserved'],
    ['::ffff:0:127.0.0.1', 'reserved'],
    ['fec0::1', 'reserved'],
    ['4000::1', 'reserved'],
    ['localhost', 'not an address'],
    ['', 'not an address'],
  ])('%s is refused: %s', (address, kind) => expect(fault(address)).toContain(kind));

  it.each([
    ['10.1.2.3', '10.0.0.0/8'],
    ['::ffff:10.1.2.3', '10.0.0.0/8'],
    ['127.0.0.1', '192.168.0.0/16, 127.0.0.1/32'],
    ['::1', '::1/128'],
    ['fd12::1', 'fd00::/8'],
    ['169.254.1.1', '169.254.0.0/16'],
    ['169.254.169.254', '169.254.169.254/32'],
    ['fd00:ec2::254', 'fd00:ec2::254/128'],
  ])('%s is allowed if %s is allowed', (address, allowed) => expect(fault(address, allowed)).toBeUndefined());

  it.each([
    ['10.1.2.3', '10.0.0.0/16'],
    ['127.0.0.1', '10.0.0.0/8'],
    ['::1', '127.0.0.0/8'],
    ['127.0.0.1', '::/0'],
    ['::ffff:127.0.0.1', '::/0'],
    ['::127.0.0.1', '127.0.0.0/8'],
    ['169.254.169.254', '169.254.0.0/16'],
    ['169.254.169.254', '0.0.0.0/0'],
    ['fd00:ec2::254', 'fd00::/8'],
  ])('%s is refused if only %s is allowed', (address, allowed) => expect(fault(address, allowed)).toBeDefined());
});

describe('A range with a port', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1/32:8443'],
    ['::ffff:127.0.0.1', '10.0.0.0/8,127.0.0.1/32:8443'],
    ['::1', '[::1/128]:8443'],
  ])('allows %s at this port only: %s', (address, allowed) => {
    expect(fault(address, allowed, 8443)).toBeUndefined();
    expect(fault(address, allowed, 8444)).toContain('loopback');
    expect(fault(address, allowed)).toContain('loopback');
  });
});

describe('Ranges of addresses', () => {
  it('are empty if nothing is configured', () => expect(parseRanges(' ')).toEqual({ ranges: [], faults: [] }));

  it.each([
    '10.0.0.0',
    '10.0.0.1/8',
    '10/8',
    '0x0a.0.0.0/8',
    '10.0.0.0/33',
    '::ffff:10.0.0.0/104',
    'fd00::1/8',
    'all',
    '10.0.0.0/8:',
    '10.0.0.0/8:0',
    '10.0.0.0/8:65536',
    'fd00::/8:443',
    '[fd00::/8]',
    '10.0.0.0:443',
  ])('%s is not a range', (text) => expect(parseRanges(`192.168.0.0/16,${text}`).faults).toEqual([text]));
});
