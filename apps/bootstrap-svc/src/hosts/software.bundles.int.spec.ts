import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSigningKey, signBundle } from '@fairlead/mirror';
import { newFolder } from '@fairlead/testing';
import { SoftwareBundles } from './software.bundles.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the bundles for hosts', () => {
  const root = realpathSync(newFolder('bundles'));
  const folder = join(root, 'bundles');
  const bundles = new SoftwareBundles(folder);

  beforeAll(() => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'good.tar.gz'), 'good');
    writeFileSync(join(root, 'master.key'), 'key');
    symlinkSync(join(root, 'master.key'), join(folder, 'link.tar.gz'));
  });

  afterAll(() => rmSync(root, { recursive: true }));

  it('are files of the configured folder, by name', async () => {
    expect(await bundles.file({ path: 'good.tar.gz', sha256: sha256('good') })).toBe(join(folder, 'good.tar.gz'));
  });

  it.each([
    ['a path of the tenant`s choosing, although its checksum is right', join(root, 'master.key')],
    ['a way out of the folder', '../master.key'],
    ['a link out of the folder', 'link.tar.gz'],
    ['the folder itself', '.'],
    ['the folder above it', '..'],
    ['nothing', ''],
  ])('are not %s', async (_what, path) => {
    await expect(bundles.file({ path, sha256: sha256('key') })).rejects.toThrow(/folder of bundles/);
  });

  it('are not sent if their checksum differs, and the failure does not reveal the actual one', async () => {
    const asked = bundles.file({ path: 'good.tar.gz', sha256: sha256('other') });
    await expect(asked).rejects.toThrow(`has another checksum than ${sha256('other')}`);
    await expect(asked).rejects.not.toThrow(sha256('good'));
    writeFileSync(join(folder, 'good.tar.gz'), 'changed');
    await expect(bundles.file({ path: 'good.tar.gz', sha256: sha256('good') })).rejects.toThrow('another checksum');
  });

  it('are sent only with the signature of a key in their connection, if it has any', async () => {
    const { privateKey, publicKey } = newSigningKey();
    writeFileSync(join(folder, 'signed.tar.gz'), 'signed');
    const named = { path: 'signed.tar.gz', sha256: sha256('signed'), signedBy: [publicKey] };
    await expect(bundles.file(named)).rejects.toThrow('it is not signed');
    await signBundle(join(folder, 'signed.tar.gz'), newSigningKey().privateKey);
    await expect(bundles.file(named)).rejects.toThrow('none of the keys');
    await signBundle(join(folder, 'signed.tar.gz'), privateKey);
    expect(await bundles.file(named)).toBe(join(folder, 'signed.tar.gz'));
  });

  it('are none if no folder is configured', async () => {
    const none = new SoftwareBundles(undefined);
    await expect(none.file({ path: 'good.tar.gz', sha256: sha256('good') })).rejects.toThrow('SOFTWARE_BUNDLES');
  });
});
