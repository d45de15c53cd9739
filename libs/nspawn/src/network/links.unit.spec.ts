import { describe, expect, it } from '@jest/globals';
import { QUESTIONS } from '../../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS } from '../../../../test/recorded/recorded.js';
import { addressWithin, linksIn, saysNoAddress, saysNoDevice } from './links.rules.js';

describe.each(RECORDED_VERSIONS)('recorded devices of a host with Kubernetes %s', (kubernetes) => {
  const addresses = linksIn(recorded(kubernetes, QUESTIONS.addressesJson));

  it('are all parsed, with and without addresses', () => {
    const names = addresses.map(({ ifname }) => ifname);
    expect(names).toEqual(expect.arrayContaining(['lo', 'host0', 'cni0']));
    expect(linksIn(recorded(kubernetes, QUESTIONS.linksJson)).map(({ ifname }) => ifname)).toEqual(names);
  });

  it('include the address that overlaps a range', () => {
    const taken = { device: 'host0', address: expect.stringMatching(/^198\.18\.64\.\d+$/) };
    expect(addressWithin(addresses, { cidr: '198.18.64.0/24', except: 'fl0123' })).toEqual(taken);
    expect(addressWithin(addresses, { cidr: '198.18.0.0/16', except: 'fl0123' })).toEqual(taken);
  });

  it('exclude the device that should have it, and ranges not in use', () => {
    expect(addressWithin(addresses, { cidr: '198.18.64.0/24', except: 'host0' })).toBeUndefined();
    expect(addressWithin(addresses, { cidr: '198.19.0.0/16', except: 'fl0123' })).toBeUndefined();
  });
});

it.each(RECORDED_VERSIONS)(
  'an error of ip about a link that is already gone is distinguished from a failure: %s',
  (kubernetes) => {
    const said = (question: 'noDevice' | 'noDeviceOfAddress' | 'noAddress'): string =>
      recorded(kubernetes, QUESTIONS[question]);
    expect([saysNoDevice(said('noDevice')), saysNoDevice(said('noDeviceOfAddress'))]).toEqual([true, true]);
    expect([saysNoAddress(said('noAddress')), saysNoDevice(said('noAddress'))]).toEqual([true, false]);
    expect([saysNoDevice('Operation not permitted'), saysNoAddress('Operation not permitted')]).toEqual([false, false]);
  },
);

it('a namespace without any device has none', () => expect(linksIn('\n')).toEqual([]));
