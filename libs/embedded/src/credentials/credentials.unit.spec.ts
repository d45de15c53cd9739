import { describe, expect, it } from '@jest/globals';
import { fromPublic, fromSeed, createAccount, createOperator, createUser } from '@nats-io/nkeys';
import { readClaims, signClaims } from './claims.js';
import { isSignedBy, keyOfSeed, newKey, type KeyKind } from './nkey.js';
import { claimsOfCreds, mintCredentials, mintNodeCredentials, mintNodeJwt, withJwt } from './creds.js';

const account = newKey('account');
const signing = newKey('account');
const mint = (more: { expiresInSeconds?: number; publish?: string[] } = {}): string =>
  mintCredentials({
    signingSeed: signing.seed,
    accountPublicKey: account.publicKey,
    name: 'node demo-cp-1',
    permissions: { publish: more.publish ?? ['hb.lab.demo.demo-cp-1'], subscribe: ['_INBOX_demo.>'] },
    ...(more.expiresInSeconds === undefined ? {} : { expiresInSeconds: more.expiresInSeconds }),
  });

describe('a minted credential', () => {
  it('contains its holder, its account, its signer and exactly its subjects', () => {
    const claims = claimsOfCreds(mint());
    expect(claims).toMatchObject({
      name: 'node demo-cp-1',
      iss: signing.publicKey,
      nats: {
        type: 'user',
        issuer_account: account.publicKey,
        pub: { allow: ['hb.lab.demo.demo-cp-1'] },
        sub: { allow: ['_INBOX_demo.>'] },
      },
    });
    expect(claims.exp).toBeUndefined();
  });

  it('expires at the given time', () => {
    const { iat, exp } = claimsOfCreds(mint({ expiresInSeconds: 60 }));
    expect((exp ?? 0) - iat).toBe(60);
  });

  it('without any subject allows nothing, although the server would read an empty list as everything', () =>
    expect(claimsOfCreds(mint({ publish: [] })).nats['pub']).toEqual({ deny: ['>'] }));

  it('is a new user each time', () => expect(claimsOfCreds(mint()).sub).not.toBe(claimsOfCreds(mint()).sub));
});

describe("a node's credential", () => {
  const nodeSigning = { accountPublicKey: account.publicKey, signingSeed: signing.seed };
  const w1 = { namespace: 'lab', cluster: 'demo', node: 'demo-w-1', expiresInSeconds: 3_600 };

  it('contains its holder and expiry, and leaves permissions to the scope of its signer', () => {
    const claims = claimsOfCreds(mintNodeCredentials(nodeSigning, w1));
    expect(claims.nats).toEqual({
      issuer_account: account.publicKey,
      tags: ['namespace:lab', 'cluster:demo', 'node:demo-w-1'],
      type: 'user',
      version: 2,
    });
    expect((claims.exp ?? 0) - claims.iat).toBe(3_600);
  });

  it('is renewed for the same user, whose seed is not moved', () => {
    const before = mintNodeCredentials(nodeSigning, w1);
    const user = claimsOfCreds(before).sub;
    const after = withJwt(before, mintNodeJwt(nodeSigning, { ...w1, expiresInSeconds: 7_200 }, user));
    expect(claimsOfCreds(after)).toMatchObject({ sub: user, name: 'lab/demo/demo-w-1' });
    expect(/BEGIN USER NKEY SEED-+\s+(\S+)/.exec(after)?.[1]).toBe(/BEGIN USER NKEY SEED-+\s+(\S+)/.exec(before)?.[1]);
  });
});

describe('a claim', () => {
  it('that was changed after it was signed is rejected', () => {
    const jwt = signClaims({ type: 'account', name: 'A', subject: account.publicKey, fields: {} }, account);
    const [header = '', body = '', signature = ''] = jwt.split('.');
    const forged = Buffer.from(Buffer.from(body, 'base64url').toString().replace('"name":"A"', '"name":"B"')).toString(
      'base64url',
    );
    expect(readClaims(jwt).name).toBe('A');
    expect(() => readClaims(`${header}.${forged}.${signature}`)).toThrow(/is not its issuer's/);
  });
});

describe('"a key, compared with the upstream package"', () => {
  const kinds: readonly KeyKind[] = ['operator', 'account', 'user'];
  const makers = { operator: createOperator, account: createAccount, user: createUser };
  const data = Buffer.from('what is signed');

  it.each(kinds)('of an %s is the same key in both, whichever created it', (kind) => {
    const ours = newKey(kind);
    expect(fromSeed(Buffer.from(ours.seed)).getPublicKey()).toBe(ours.publicKey);
    const theirs = makers[kind]();
    const read = keyOfSeed(Buffer.from(theirs.getSeed()).toString());
    expect(read.publicKey).toBe(theirs.getPublicKey());
    expect(read.seed).toBe(Buffer.from(theirs.getSeed()).toString());
  });

  it.each(kinds)('of an %s creates signatures that the other verifies', (kind) => {
    const ours = newKey(kind);
    expect(fromPublic(ours.publicKey).verify(data, ours.sign(data))).toBe(true);
    const theirs = makers[kind]();
    expect(isSignedBy(theirs.getPublicKey(), data, Buffer.from(theirs.sign(data)))).toBe(true);
    expect(isSignedBy(ours.publicKey, data, Buffer.from(theirs.sign(data)))).toBe(false);
  });

  it('with a wrong letter is rejected', () => {
    const { seed } = newKey('account');
    const wrong = `${seed.slice(0, 10)}${seed[10] === 'A' ? 'B' : 'A'}${seed.slice(11)}`;
    expect(() => keyOfSeed(wrong)).toThrow(/checksum is wrong/);
    expect(() => keyOfSeed(newKey('account').publicKey)).toThrow(/not a NATS seed/);
    expect(() => keyOfSeed('no key 1')).toThrow(/not base32/);
  });
});
