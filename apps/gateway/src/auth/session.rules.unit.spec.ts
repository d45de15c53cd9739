import { describe, expect, it } from '@jest/globals';
import {
  cookieName,
  endedCookie,
  isFromOwnPage,
  isLoopback,
  sessionCookie,
  sessionIn,
  type Asking,
} from './session.rules.js';

const asking = (change: Partial<Asking> = {}): Asking => ({
  method: 'GET',
  headers: {},
  isEncrypted: false,
  port: 8080,
  ...change,
});

describe('the cookie of a session', () => {
  const end = new Date('2026-11-28T12:00:00Z');

  it('is closed to scripts and to other sites, and has the prefix of hosts with TLS', () => {
    expect(sessionCookie(asking(), 'fs_1', end)).toBe(
      'fairlead-session-8080=fs_1; Path=/; HttpOnly; SameSite=Strict; Expires=Sat, 28 Nov 2026 12:00:00 GMT',
    );
    expect(sessionCookie(asking({ isEncrypted: true }), 'fs_1', end)).toBe(
      '__Host-fairlead-session=fs_1; Path=/; HttpOnly; SameSite=Strict; Secure; Expires=Sat, 28 Nov 2026 12:00:00 GMT',
    );
    expect(endedCookie(asking())).toContain('fairlead-session-8080=; Path=/');
    expect(endedCookie(asking())).toContain('Expires=Thu, 01 Jan 1970');
  });

  it('is read by its own name: a gateway at another port of the machine has another', () => {
    const cookie = `a=b; ${cookieName(asking())}=mine; fairlead-session-8081=theirs`;
    expect(sessionIn(asking({ headers: { cookie } }))).toBe('mine');
    expect(sessionIn(asking({ headers: { cookie }, port: 8081 }))).toBe('theirs');
    expect(sessionIn(asking({ headers: { cookie }, isEncrypted: true }))).toBeUndefined();
    expect(sessionIn(asking())).toBeUndefined();
    expect(sessionIn(asking({ headers: { cookie: 'fairlead-session-8080' } }))).toBeUndefined();
  });
});

describe('a request with a session', () => {
  const host = '127.0.0.1:8080';
  const from = (method: string, headers: Asking['headers']): boolean =>
    isFromOwnPage({ method, headers: { host, ...headers } });

  it.each([
    ['POST', { 'sec-fetch-site': 'same-origin' }],
    ['GET', { 'sec-fetch-site': 'same-origin' }],
    ['GET', { 'sec-fetch-site': 'none' }],
    ['GET', {}],
    ['POST', { origin: `http://${host}` }],
    ['DELETE', { origin: `https://${host}` }],
  ] as const)('%s %j is from the own page', (method, headers) => expect(from(method, headers)).toBe(true));

  it.each([
    ['POST', {}],
    ['POST', { 'sec-fetch-site': 'none' }],
    ['POST', { 'sec-fetch-site': 'same-site' }],
    ['POST', { 'sec-fetch-site': 'cross-site', origin: `http://${host}` }],
    ['GET', { 'sec-fetch-site': 'same-site' }],
    ['GET', { 'sec-fetch-site': 'cross-site' }],
    ['GET', { origin: 'http://evil.example' }],
    ['PUT', { origin: 'http://127.0.0.1:8081' }],
    ['PATCH', { origin: 'null' }],
  ] as const)('%s %j is not', (method, headers) => expect(from(method, headers)).toBe(false));
});

describe('this machine', () => {
  it('is loopback, and nothing else', () => {
    expect(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'].map(isLoopback)).toEqual([true, true, true, true]);
    expect(['10.0.0.1', '::ffff:10.0.0.1', '128.0.0.1', 'fe80::1', undefined].map(isLoopback)).toEqual([
      ...[false, false, false, false, false],
    ]);
  });
});
