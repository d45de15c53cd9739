import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { withoutSecrets } from './secret.words.js';

const SECRET = 'kX9+s/Rt-"uV\\w=2';

describe('the words of a cloud', () => {
  it.each<[string, (secret: string) => string]>([
    ['as it is', (secret) => secret],
    ['backwards', (secret) => [...secret].reverse().join('')],
    ['in hex', (secret) => Buffer.from(secret).toString('hex')],
    ['in upper-case hex', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
    ['in a URL', (secret) => `?secret=${encodeURIComponent(secret)}`],
    ['in JSON', (secret) => JSON.stringify({ secret })],
  ])('do not repeat a secret %s', (_how, echo) => {
    const said = echo(SECRET);
    expect(withoutSecrets(`denied: ${said}`, [SECRET])).not.toContain(said.replaceAll(/^.*=|^\{"secret":"|"\}$/g, ''));
    expect(withoutSecrets(`denied: ${said}`, [SECRET])).toMatch(/^denied: .*\*\*\*/);
  });

  it('do not repeat a secret in Base64, wherever it begins in what is encoded', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), fc.boolean(), (before, after, isUrl) => {
        const coded = Buffer.from(`${before}${SECRET}${after}`).toString(isUrl ? 'base64url' : 'base64');
        const said = withoutSecrets(coded, [SECRET]);
        // Only the characters at its borders are left, each of which also encodes what is beside it.
        expect(said).toContain('***');
        expect(Buffer.from(said.split('***')[0] ?? '', 'base64').toString('latin1')).not.toContain(SECRET.slice(0, 3));
      }),
    );
  });

  it('are otherwise as they were said', () => {
    const words = 'Quota exceeded for cores: Requested 4, but already used 20 of 20 cores';
    expect(withoutSecrets(words, [SECRET, '', 'of'])).toBe(words);
  });
});
