import { describe, expect, it } from '@jest/globals';
import { signedCertificate } from './kubeconfig.js';
import { makeKubeconfigs } from './kubeconfig.fixtures.js';

const USER = 'fairlead:token:a11ce';
const GROUP = 'fairlead:operators';
const YEARS_2_MS = 2 * 366 * 24 * 3_600_000;
const mine = { commonName: USER, organizations: [GROUP], usage: 'client' } as const;
const { authority } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
const { authority: foreign } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
const good = await authority.issue(mine, Date.now());

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const expected = {
  ca: authority.pair.certPem,
  key: good.keyPem,
  user: USER,
  group: GROUP,
  expiresBy: new Date(Date.now() + YEARS_2_MS),
};
const checked = (answer: string, change: Partial<typeof expected> = {}) =>
  signedCertificate(answer, 'demo', { ...expected, ...change });

/** What a compromised control plane may return. */
describe('the response of the API to a signing request', () => {
  it('is accepted if it is the requested certificate', () => {
    const { certificate, expiresAt } = checked(base64(good.certPem));
    expect(certificate.trim()).toBe(good.certPem.trim());
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
  });

  it.each([
    ['text', 'hello', 'is not one PEM block'],
    ['nothing', '', 'is not one PEM block'],
    ['a private key', base64(good.keyPem), 'is not one PEM block'],
    ['two certificates', base64(good.certPem + good.certPem), 'is not one PEM block'],
    ['a certificate and YAML', base64(`${good.certPem}\nusers: []\n`), 'is not one PEM block'],
    ['a megabyte', 'A'.repeat(1024 * 1024), 'is too long'],
    ['broken DER', base64(good.certPem.replace(/[A-Za-z]{8}/, 'AAAAAAAA')), 'refused'],
    ['the authority itself', base64(authority.pair.certPem), 'not signed by'],
  ])('is rejected if it is %s', (_what, answer, says) => expect(() => checked(answer)).toThrow(says));

  it.each([
    ['another user', { ...mine, commonName: 'kubernetes-admin' }, 'for another'],
    ['another group', { ...mine, organizations: ['system:masters'] }, 'for another'],
    ['a further group', { ...mine, organizations: [GROUP, 'system:masters'] }, 'for another'],
    ['a server', { ...mine, usage: 'server' as const }, 'for another'],
  ])('is rejected if it is for %s', async (_what, subject, says) => {
    const other = await authority.issue(subject, Date.now());
    expect(() => checked(base64(other.certPem))).toThrow(says);
    // Also with the matching key.
    expect(() => checked(base64(other.certPem), { key: other.keyPem })).toThrow(/another user|not for clients/);
  });

  it('is rejected if another CA signed it, or if it is valid for longer than requested', async () => {
    const other = await foreign.issue(mine, Date.now());
    expect(() => checked(base64(other.certPem), { key: other.keyPem })).toThrow('not signed by');
    expect(() => checked(base64(good.certPem), { expiresBy: new Date() })).toThrow('valid for too long');
  });
});
