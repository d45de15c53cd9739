import { describe, expect, it } from '@jest/globals';
import { proxyDropIn, proxyEnvironment, proxyOf } from './host.proxy.js';

const proxy = {
  http: 'http://10.0.0.1:3128',
  https: 'http://10.0.0.2:3128',
  no: ['.example.org', '10.0.0.0/8', 'near'],
};
const through = (url: string): string | undefined => proxyOf(new URL(url), proxy)?.host;

describe('the proxy of a host', () => {
  it('is the one of the scheme, except for exceptions', () => {
    expect(through('http://packages.example.net/x')).toBe('10.0.0.1:3128');
    expect(through('https://releases.example.net/x')).toBe('10.0.0.2:3128');
    for (const url of ['https://mirror.example.org', 'http://10.9.9.9:5000', 'http://near/'])
      expect(through(url)).toBeUndefined();
    // As in Go: a leading dot matches only subdomains.
    expect(through('https://example.org')).toBe('10.0.0.2:3128');
    expect(through('https://notexample.org')).toBe('10.0.0.2:3128');
    expect(proxyOf(new URL('https://releases.example.net'), undefined)).toBeUndefined();
  });

  it('is set for programs of the host and for the container runtime', () => {
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
