import { describe, expect, it } from '@jest/globals';
import { proxyDropIn, proxyEnvironment, proxyOf } from './host.proxy.js';

const proxy = {
  http: 'http://10.0.0.1:3128',
  https: 'http://10.0.0.2:3128',
  no: ['.example.org', '10.0.0.0/8', 'near'],
};
const through = (url: string): string | undefined => proxyOf(new URL(url), proxy)?.host;

describe('the proxy of a host', () => {
  it('is the one of the scheme, and none for what is excepted', () => {
    expect(through('http://packages.example.net/x')).toBe('10.0.0.1:3128');
    expect(through('https://releases.example.net/x')).toBe('10.0.0.2:3128');
    for (const url of ['https://mirror.example.org', 'http://10.9.9.9:5000', 'http://near/'])
      expect(through(url)).toBeUndefined();
    // As Go has it: a leading dot is for subdomains only.
    expect(through('https://example.org')).toBe('10.0.0.2:3128');
    expect(through('https://notexample.org')).toBe('10.0.0.2:3128');
    expect(proxyOf(new URL('https://releases.example.net'), undefined)).toBeUndefined();
  });

  it('is what programs of the host and the container runtime read', () => {
    expect(proxyEnvironment(proxy)).toEqual({
      http_proxy: 'http://10.0.0.1:3128',
      https_proxy: 'http://10.0.0.2:3128',
      no_proxy: '.example.org,10.0.0.0/8,near',
    });
    expect(proxyDropIn({ https: 'http://10.0.0.2:3128' })).toBe(
      '# Written by Fairlead.\n[Service]\nEnvironment="HTTPS_PROXY=http://10.0.0.2:3128"\nEnvironment="NO_PROXY="\n',
    );
    expect(proxyDropIn(undefined)).toBe('');
  });
});
