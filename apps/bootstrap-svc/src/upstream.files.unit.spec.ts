import { NETWORK_RELEASES, PRELOADED_NETWORK_RELEASES } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../upstream/', import.meta.url));

interface Source {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly files: readonly { readonly file: string; readonly sha256: string; readonly values?: string }[];
}
const { releases } = JSON.parse(readFileSync(join(FOLDER, 'sources.json'), 'utf8')) as { releases: readonly Source[] };

describe('the vendored manifests', () => {
  it.each(releases.flatMap(({ files }) => files))('$file is unchanged since it was vendored', ({ file, sha256 }) => {
    expect(
      createHash('sha256')
        .update(readFileSync(join(FOLDER, file)))
        .digest('hex'),
    ).toBe(sha256);
  });

  it('are all listed with their source, and there are no other files', () => {
    const listed = releases.flatMap(({ files }) => files.flatMap(({ file, values }) => [file, values ?? file]));
    const found = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) =>
      statSync(join(FOLDER, file)).isFile(),
    );
    expect(found.toSorted()).toEqual([...new Set(['README.md', 'sources.json', ...listed])].toSorted());
  });

  it('have the license of their project next to them', () => {
    for (const { name, version, files } of releases)
      expect(files.map(({ file }) => file)).toContainEqual(expect.stringMatching(`^${name}/${version}/LICENSE`));
  });

  it('have the versions that clusters use', () => {
    const { flannel, calico, canal, cilium } = NETWORK_RELEASES;
    const vendored = Object.fromEntries(releases.map(({ name, version }) => [name, version]));
    expect(vendored).toEqual({ flannel: flannel.version, calico: calico.version, cilium: cilium.version });
    expect(canal.version).toBe(calico.version);
    expect(PRELOADED_NETWORK_RELEASES.flannel.version).toBe(flannel.version);
  });
});
