import { findHelm } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Charts, type ChartAt } from '@fairlead/service-kit/charts';
import { CheckedHttp, parseRanges } from '@fairlead/service-kit/http';
import { ChartRegistry } from './chart.registry.fixtures.js';

const run = promisify(execFile);
const { signal } = new AbortController();
const all = (versions: readonly string[]): readonly string[] => versions;
const helm = findHelm(process.env);

let registry: ChartRegistry;
beforeEach(async () => {
  registry = new ChartRegistry();
  await registry.start();
});
afterEach(() => registry.stop());

const charts = (allowed = '127.0.0.0/8'): Charts =>
  new Charts(new CheckedHttp({ allowed: parseRanges(allowed).ranges, setting: 'CATALOGUE_ADDRESSES_ALLOWED' }));
const at = (others: Partial<ChartAt> = {}): ChartAt => ({
  ...{ repository: `oci://${registry.host}/team/charts`, chart: 'paint', ca: registry.ca },
  ...others,
});
const ada = { username: 'ada', password: 'open sesame' };

describe('charts in a registry', () => {
  it('have the versions of their tags over all pages, and the digests of chosen versions', async () => {
    registry.pageSize = 2;
    for (const version of ['1.0.0', '1.1.0', '2.0.0_build.7', 'latest'])
      registry.put('team/charts/paint', version, Buffer.from(version));
    const found = await charts().versions(at(), (versions) => versions.filter((one) => one.startsWith('2')), signal);
    expect(found.map(({ version, digest }) => [version, digest !== undefined])).toEqual([
      ...[
        ['1.0.0', false],
        ['1.1.0', false],
        ['2.0.0+build.7', true],
        ['latest', false],
      ],
    ]);
    const chosen = found.find(({ version }) => version.startsWith('2'))!;
    expect((await charts().archive(at(), chosen, signal)).toString()).toBe('2.0.0_build.7');
  });

  it('are pulled with a token if private; only the registry receives the credentials', async () => {
    registry.user = ada;
    registry.put('team/charts/paint', '1.0.0', Buffer.from('chart'));
    const [found] = await charts().versions(at({ credentials: ada }), all, signal);
    expect((await charts().archive(at({ credentials: ada }), found!, signal)).toString()).toBe('chart');
    expect(registry.asked.filter((asked) => asked.includes('Basic')).every((asked) => asked.includes('/token'))).toBe(
      true,
    );
  });

  it.each([
    ['without credentials', undefined],
    ['with wrong ones', { username: 'ada', password: 'wrong' }],
  ])('refuse %s if private, with a message that contains no secret', async (_title, credentials) => {
    registry.user = ada;
    registry.put('team/charts/paint', '1.0.0', Buffer.from('chart'));
    const failure = await charts()
      .versions(at({ credentials }), all, signal)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason: 'RepositoryUnreachable', message: expect.stringContaining('401') });
    expect(String(failure)).not.toMatch(/wrong|sesame|YWRh/);
  });

  it.each([
    [
      'another archive than its manifest says',
      () => registry.blobs.forEach((_bytes, key) => registry.blobs.set(key, Buffer.from('other'))),
      'DigestMismatch',
    ],
    ['no archive', () => registry.blobs.clear(), 'RepositoryUnreachable'],
  ])('are refused if they have %s', async (_title, spoil, reason) => {
    registry.put('team/charts/paint', '1.0.0', Buffer.from('chart'));
    const [found] = await charts().versions(at(), all, signal);
    spoil();
    await expect(charts().archive(at(), found!, signal)).rejects.toMatchObject({ reason });
  });

  it.each([
    ['something else than JSON', 'IndexInvalid', Buffer.from('<html>')],
    [
      'an image instead of a chart',
      'ArchiveInvalid',
      Buffer.from(JSON.stringify({ layers: [{ mediaType: 'a', digest: `sha256:${'a'.repeat(64)}` }] })),
    ],
    [
      'a digest that is a path',
      'IndexInvalid',
      Buffer.from(JSON.stringify({ layers: [{ mediaType: 'a', digest: 'sha256:../../x' }] })),
    ],
  ])('are refused if their manifest is %s', async (_title, reason, manifest) => {
    registry.manifests.set('team/charts/paint:1.0.0', manifest);
    await expect(charts().versions(at(), all, signal)).rejects.toMatchObject({ reason });
  });

  it("are not requested from addresses of the platform's network", async () => {
    await expect(charts('10.0.0.0/8').versions(at(), all, signal)).rejects.toThrow('CATALOGUE_ADDRESSES_ALLOWED');
    expect(registry.asked).toEqual([]);
  });

  (helm === undefined ? it.skip : it)('are what the real helm pushes', async () => {
    const folder = newFolder('push');
    mkdirSync(join(folder, 'paint', 'templates'), { recursive: true });
    writeFileSync(
      join(folder, 'paint', 'Chart.yaml'),
      'apiVersion: v2\nname: paint\nversion: 1.2.3+a\nappVersion: "7"\n',
    );
    writeFileSync(join(folder, 'ca.pem'), registry.ca);
    const env = { HOME: folder, PATH: '/usr/bin:/bin' };
    await run(helm ?? '', ['package', 'paint'], { cwd: folder, env });
    const to = [`oci://${registry.host}/team/charts`, '--ca-file', join(folder, 'ca.pem')];
    await run(helm ?? '', ['push', 'paint-1.2.3+a.tgz', ...to], { cwd: folder, env });
    const [found] = await charts().versions(at(), all, signal);
    expect(found).toMatchObject({ version: '1.2.3+a', digest: expect.any(String) });
    expect((await charts().archive(at(), found!, signal)).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    removeFolder(folder);
  });
});
