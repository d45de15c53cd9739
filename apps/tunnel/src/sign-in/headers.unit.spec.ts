import { describe, expect, it } from '@jest/globals';
import { answerHeaders, cookieIn, requestHeaders, SESSION_COOKIE, SIGN_IN_COOKIE } from './headers.rules.js';

const visitor = { subject: 'f:1:ada', username: 'ada', email: 'ada@example.org', groups: ['/team-a', '/b, c'] };
const sent = (...raw: readonly string[]) =>
  requestHeaders(raw, { visitor, host: 'grafana.demo.example.org', address: '192.0.2.7' });
const valuesOf = (headers: readonly (readonly [string, string])[], name: string): readonly string[] =>
  headers.filter(([one]) => one.toLowerCase().replaceAll('_', '-') === name).map(([, value]) => value);

describe('the headers that a published service gets', () => {
  it('say who is signed in', () => {
    const headers = sent();
    expect(valuesOf(headers, 'x-forwarded-user')).toEqual(['f:1:ada']);
    expect(valuesOf(headers, 'x-forwarded-preferred-username')).toEqual(['ada']);
    expect(valuesOf(headers, 'x-forwarded-email')).toEqual(['ada@example.org']);
    expect(valuesOf(headers, 'x-forwarded-groups')).toEqual(['/team-a,/b%2C%20c']);
    expect(valuesOf(headers, 'x-forwarded-for')).toEqual(['192.0.2.7']);
  });

  it.each([
    ...['X-Forwarded-User', 'x-forwarded-user', 'X_Forwarded_User', 'x_forwarded-user', 'X-Forwarded-Groups'],
    ...['X-Forwarded-Email', 'X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded', 'X-Remote-User', 'Remote-User'],
    ...['REMOTE_USER', 'X-Auth-Request-User', 'X-WEBAUTH-USER', 'X-Real-IP'],
  ])('have nothing of a forged %s', (name) => {
    const headers = sent(name, 'forged');
    expect(headers.flat()).not.toContain('forged');
  });

  it('have no cookie of the tunnel, and every other one', () => {
    const cookies = `a=1; ${SESSION_COOKIE}=secret; b=2; ${SIGN_IN_COOKIE}=other`;
    expect(valuesOf(sent('Cookie', cookies), 'cookie')).toEqual(['a=1; b=2']);
    expect(valuesOf(sent('Cookie', `${SESSION_COOKIE}=secret`), 'cookie')).toEqual([]);
  });

  it('have the name of the service as host, and nothing that is of the connection before', () => {
    const headers = sent(
      'Host',
      'evil.example.org',
      'Connection',
      'close, X-Hop',
      'X-Hop',
      '1',
      'Transfer-Encoding',
      'chunked',
      'TE',
      'gzip',
    );
    expect(valuesOf(headers, 'host')).toEqual(['grafana.demo.example.org']);
    for (const name of ['connection', 'x-hop', 'transfer-encoding', 'te']) expect(valuesOf(headers, name)).toEqual([]);
  });

  it('can carry every name of a user', () => {
    const strange = { subject: 'a\r\nX-Forwarded-Groups: /admins', username: 'Zoë', email: '', groups: [] };
    const headers = requestHeaders([], { visitor: strange, host: 'h', address: 'a' });
    expect(headers.flat().join('')).toMatch(/^[\x20-\x7e]*$/);
    expect(valuesOf(headers, 'x-forwarded-preferred-username')).toEqual(['Zo%C3%AB']);
  });
});

describe('a cookie', () => {
  it('counts where there is one of its name', () => {
    expect(cookieIn('a=1; b=2', 'b')).toBe('2');
    expect(cookieIn('b=1; b=2', 'b')).toBeUndefined();
    expect(cookieIn(undefined, 'b')).toBeUndefined();
  });

  it('of the tunnel is set by no service', () => {
    const headers = answerHeaders([
      'Set-Cookie',
      `${SESSION_COOKIE}=forged; Path=/`,
      'Set-Cookie',
      'own=1',
      'X-A',
      '1',
    ]);
    expect(headers).toEqual([
      ['Set-Cookie', 'own=1'],
      ['X-A', '1'],
    ]);
  });
});
