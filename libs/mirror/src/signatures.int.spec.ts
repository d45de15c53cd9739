import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { MirrorTrust } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { createBundle, inspectBundle } from './bundle.js';
import { digestOfFile } from './bytes.js';
import { catalogueOf } from './catalogue.js';
import { newSigningKey, publicKeyOf, signatureText, signerOf } from './signatures.js';
import { bundleSigner, ensureSigningKey, signBundle, signMirror } from './signing.js';
import { openSource } from './source.js';
import { MirrorServer, writeSampleMirror } from './testing.js';

const ours = newSigningKey();
const theirs = newSigningKey();

let folder: string;
let mirror: string;

beforeEach(() => {
  folder = newFolder('signatures');
  mirror = join(folder, 'mirror');
  writeSampleMirror(mirror);
});
afterEach(() => removeFolder(folder));

const read = (trust: MirrorTrust, location = mirror) => catalogueOf(openSource(location), trust);

describe('a catalogue', () => {
  const tamper = (): void => {
    const file = join(mirror, 'catalogue.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('3.6.8', '3.6.9'));
  };

  it('is accepted if a trusted key signed it, or if it is pinned', async () => {
    await signMirror(mirror, ours.privateKey);
    const { sha256 } = await digestOfFile(join(mirror, 'catalogue.json'));
    expect((await read({ signedBy: [theirs.publicKey, ours.publicKey] })).releases).toHaveLength(2);
    expect((await read({ catalogueSha256: sha256, signedBy: [ours.publicKey] })).releases).toHaveLength(2);
  });

  it('that was changed after it was signed or pinned is refused', async () => {
    await signMirror(mirror, ours.privateKey);
    const { sha256 } = await digestOfFile(join(mirror, 'catalogue.json'));
    tamper();
    await expect(read({ signedBy: [ours.publicKey] })).rejects.toThrow('none of the keys');
    await expect(read({ catalogueSha256: sha256 })).rejects.toThrow(`not ${sha256}`);
  });

  it('that another key signed again is refused', async () => {
    tamper();
    await signMirror(mirror, theirs.privateKey);
    await expect(read({ signedBy: [ours.publicKey] })).rejects.toThrow('none of the keys');
  });

  it('with a forged signature under the name of a trusted key is refused', async () => {
    await signMirror(mirror, theirs.privateKey);
    const file = join(mirror, 'catalogue.json.sig');
    writeFileSync(file, readFileSync(file, 'utf8').replace(theirs.publicKey, ours.publicKey));
    await expect(read({ signedBy: [ours.publicKey] })).rejects.toThrow('none of the keys');
  });

  it('without a signature is refused, unless explicitly allowed', async () => {
    await expect(read({ signedBy: [ours.publicKey] })).rejects.toThrow('it is not signed');
    await expect(read({})).rejects.toThrow('says nothing by which its files can be checked');
    expect((await read({ unsigned: true })).releases).toHaveLength(2);
  });

  it('over http is never accepted unsigned, only pinned', async () => {
    const server = new MirrorServer(mirror);
    await server.start();
    try {
      await expect(read({ unsigned: true }, server.url)).rejects.toThrow('is http');
      expect(server.requests).toEqual([]);
      const { sha256 } = await digestOfFile(join(mirror, 'catalogue.json'));
      expect((await read({ catalogueSha256: sha256 }, server.url)).releases).toHaveLength(2);
    } finally {
      await server.stop();
    }
  });
});

describe('a signed bundle', () => {
  const bundleOf = (signingKey?: string) => {
    const file = join(folder, 'k.tar.gz');
    const key = signingKey === undefined ? {} : { signingKey };
    return createBundle({ source: openSource(mirror), trust: { unsigned: true }, versions: ['v1.34.4'], file, ...key });
  };
  const file = (): string => join(folder, 'k.tar.gz');

  it('names its signer, is complete, and unpacks into a signed mirror', async () => {
    const { sha256 } = await bundleOf(ours.privateKey);
    expect(await bundleSigner(file(), sha256, [ours.publicKey])).toBe(ours.publicKey);
    expect((await inspectBundle(file())).sha256).toBe(sha256);
    expect(gunzipSync(readFileSync(file())).includes('catalogue.json.sig')).toBe(true);
  });

  it('that was changed is refused, even if it is consistent', async () => {
    await bundleOf(ours.privateKey);
    const other = gzipSync(gunzipSync(readFileSync(file())), { level: 1 });
    writeFileSync(file(), other);
    const { sha256 } = await inspectBundle(file());
    await expect(bundleSigner(file(), sha256, [ours.publicKey])).rejects.toThrow('none of the keys');
  });

  it('is not accepted by the signature of its predecessor', async () => {
    await bundleOf(ours.privateKey);
    const { sha256 } = await bundleOf();
    expect(existsSync(`${file()}.sig`)).toBe(false);
    await expect(bundleSigner(file(), sha256, [ours.publicKey])).rejects.toThrow('it is not signed');
  });

  it('has its own kind of signature: one of a catalogue with the same checksum is not valid', async () => {
    const { sha256 } = await bundleOf();
    const text = signatureText(ours.privateKey, 'catalogue', sha256);
    expect(signerOf(text, 'catalogue', sha256, [ours.publicKey])).toBe(ours.publicKey);
    expect(signerOf(text, 'bundle', sha256, [ours.publicKey])).toBeUndefined();
    await signBundle(file(), ours.privateKey);
    expect(await bundleSigner(file(), sha256, [ours.publicKey])).toBe(ours.publicKey);
  });
});

describe('a signing key', () => {
  it('is created once, for its owner only', async () => {
    const made = await ensureSigningKey(join(folder, 'keys', 'mirror.pem'));
    expect(statSync(join(folder, 'keys', 'mirror.pem')).mode & 0o777).toBe(0o600);
    expect(await ensureSigningKey(join(folder, 'keys', 'mirror.pem'))).toEqual(made);
    expect(readdirSync(join(folder, 'keys'))).toEqual(['mirror.pem']);
  });

  it('is an Ed25519 key, and any other is refused without its text', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(() => publicKeyOf(pem)).toThrow('it is ec');
    expect(() => publicKeyOf('canary')).not.toThrow('canary');
    expect(() => publicKeyOf('canary')).toThrow();
  });
});
