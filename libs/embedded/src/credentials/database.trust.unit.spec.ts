import { describe, expect, it } from '@jest/globals';
import { databaseTrustOf, databaseUrlOver, isLoopback } from './database.trust.js';

const NONE = { caFile: undefined, plainText: false };
const FAR = 'postgres://u:p@db.example.org:5432/x';
const HERE = 'postgres://u:p@127.0.0.1:5432/x';

describe('the URL of a database on another machine', () => {
  it.each([
    FAR,
    'postgres://u:p@192.0.2.1/x',
    'postgres://u:p@[2001:db8::1]/x',
    'postgresql://u@localhost.example.org/x',
  ])('%s uses TLS with a certificate that is verified for the host', (url) =>
    expect(databaseUrlOver(url, NONE)).toEqual({ url: `${url}?sslmode=verify-full` }),
  );

  it('uses the CA of the configuration before its own', () =>
    expect(databaseUrlOver(`${FAR}?sslrootcert=/other.pem`, { ...NONE, caFile: '/ca.pem' })).toEqual({
      url: `${FAR}?sslrootcert=%2Fca.pem&sslmode=verify-full`,
    }));

  it('is rejected in plain text, unless both it and the configuration allow that', () => {
    const plain = `${FAR}?sslmode=disable`;
    expect(databaseUrlOver(plain, NONE)).toEqual({ fault: expect.stringContaining('in plain text') });
    expect(databaseUrlOver(plain, { ...NONE, plainText: true })).toEqual({ url: plain });
    expect(databaseUrlOver(FAR, { ...NONE, plainText: true })).toEqual({ url: FAR });
    expect(databaseUrlOver(FAR, { caFile: '/ca.pem', plainText: true })).toMatchObject({
      url: expect.stringContaining('verify-full'),
    });
  });

  it('is rejected with a mode that does not verify the server, or another spelling of one', () => {
    for (const mode of ['allow', 'prefer', 'require', 'verify-ca', 'no-verify', ''])
      expect(databaseUrlOver(`${FAR}?sslmode=${mode}`, { ...NONE, plainText: true })).toEqual({
        fault: expect.stringContaining('does not check who answers'),
      });
    for (const parameter of ['ssl=0', 'ssl=true', 'uselibpqcompat=true&sslmode=verify-full'])
      expect(databaseUrlOver(`${FAR}?${parameter}`, NONE)).toEqual({ fault: expect.stringContaining('parameter') });
  });

  it('is not considered local because of a parameter that names another host', () =>
    expect(databaseUrlOver(`${HERE}?host=db.example.org`, NONE)).toMatchObject({
      url: expect.stringContaining('sslmode=verify-full'),
    }));
});

describe('the URL of a database on this machine', () => {
  it.each([HERE, 'postgres://u:p@localhost/x', 'postgres://u:p@[::1]/x', 'postgres://u@%2Frun%2Fpostgresql/x'])(
    '%s is unchanged',
    (url) => expect(databaseUrlOver(url, NONE)).toEqual({ url }),
  );

  it('uses TLS if it or the configuration requires it', () => {
    expect(databaseUrlOver(`${HERE}?sslmode=verify-full`, NONE)).toEqual({ url: `${HERE}?sslmode=verify-full` });
    expect(databaseUrlOver(HERE, { ...NONE, caFile: '/ca.pem' })).toMatchObject({
      url: expect.stringContaining('verify-full'),
    });
  });
});

it('other text is not a URL of a database', () =>
  expect([databaseUrlOver('db', NONE), databaseUrlOver('http://x/', NONE)].map((over) => 'fault' in over)).toEqual([
    true,
    true,
  ]));

it('hosts that only look like loopback are not loopback', () =>
  expect(
    ['127.0.0.1', '127.9.9.9', 'LOCALHOST', '::1', '127.0.0.1.example.org', '0.0.0.0', '::'].map(isLoopback),
  ).toEqual([true, true, true, true, false, false, false]));

it('the configuration is that of the environment', () =>
  expect(databaseTrustOf({ DATABASE_CA_FILE: '', DATABASE_PLAIN_TEXT: 'yes' })).toEqual(NONE));
