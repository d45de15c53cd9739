import { SCHEMA_BYTES_MAX } from '@fairlead/contracts';
import { CheckedHttp, parseRanges } from '@fairlead/service-kit/http';
import { WORST_YAML } from '@fairlead/testing/worst.texts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { IndexedVersion } from '../../catalogue/catalogue.ports.js';
import { archiveOf, ChartServer, chartOf, sha256 } from './chart.server.fixtures.js';
import { ARCHIVE_BYTES_MAX } from '../../../../../libs/service-kit/src/charts/chart.limits.js';
import { UNPACKED_BYTES_MAX } from './helm.limits.js';
import { HelmRepository } from './helm.repository.js';

const { signal } = new AbortController();
const checked = (allowed = '127.0.0.0/8'): CheckedHttp =>
  new CheckedHttp({ allowed: parseRanges(allowed).ranges, setting: 'CATALOGUE_ADDRESSES_ALLOWED' });

let server: ChartServer;
beforeEach(async () => {
  server = new ChartServer();
  await server.start();
});
afterEach(() => server.stop());

const access = () => ({ repository: server.url, chart: 'grafana', ca: server.ca, range: '*', keep: 5 });
const repository = (http = checked()): HelmRepository => new HelmRepository(http);
const versions = (http = checked()): Promise<readonly IndexedVersion[]> => repository(http).versions(access(), signal);
const schemaOf = (bytes: Buffer): Promise<string | null> => {
  server.publish({ '8.1.0': bytes });
  return published();
};
const published = async (): Promise<string | null> => {
  const [indexed] = await versions();
  return (await repository().schemas(access(), indexed!, signal)).schema;
};
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('a chart repository over HTTPS', () => {
  it('lists the versions of a chart with their digests, and returns the values schema of each [azimuth 33]', async () => {
    const bytes = await chartOf('{ "type": "object" }');
    server.publish({ '8.1.0': bytes });
    expect(await versions()).toEqual([
      {
        version: '8.1.0',
        appVersion: '11.0',
        digest: sha256(bytes),
        deprecated: false,
        url: `${server.url}/grafana-8.1.0.tgz`,
      },
    ]);
    expect(await published()).toBe('{"type":"object"}');
    expect(await schemaOf(await chartOf(undefined))).toBeNull();
  });

  it('follows redirects to https URLs, whose addresses are checked again', async () => {
    server.publish({ '8.1.0': await chartOf('{}') });
    const bytes = server.files.get('/grafana-8.1.0.tgz')!;
    server.files.set('/elsewhere.tgz', bytes);
    server.files.set('/grafana-8.1.0.tgz', { location: '/elsewhere.tgz' });
    expect(await published()).toBe('{}');
    server.files.set('/grafana-8.1.0.tgz', { location: 'https://10.1.2.3/x.tgz' });
    await expect(published()).rejects.toMatchObject({
      reason: 'RepositoryUnreachable',
      message: expect.stringContaining('10.1.2.3 is'),
    });
    server.files.set('/grafana-8.1.0.tgz', { location: 'http://127.0.0.1/x.tgz' });
    await expect(published()).rejects.toMatchObject({ reason: 'RepositoryUnreachable' });
    server.files.set('/grafana-8.1.0.tgz', { location: '/grafana-8.1.0.tgz' });
    await expect(published()).rejects.toThrow('redirects more than 3 times');
  });

  it('is requested only at public addresses, unless an administrator allows more', async () => {
    server.publish({});
    await expect(versions(checked(''))).rejects.toMatchObject({
      reason: 'RepositoryUnreachable',
      message: expect.stringContaining('CATALOGUE_ADDRESSES_ALLOWED'),
    });
    expect(server.asked).toEqual([]);
  });

  it('is refused if its index is invalid, or does not contain the chart', async () => {
    const indexInvalid = async (index: string): Promise<void> => {
      server.files.set('/index.yaml', index);
      await expect(versions()).rejects.toMatchObject({ reason: 'IndexInvalid' });
    };
    await indexInvalid('<html>: [not an index');
    await indexInvalid('[]');
    await indexInvalid('entries:\n  grafana: none\n');
    await indexInvalid('entries:\n  grafana: &a\n  - *a\n');
    await indexInvalid(`entries:\n  grafana:\n${'  - version: 1.0.0\n'.repeat(10_001)}`);
    await indexInvalid(`entries:\n  grafana: ${nested(100)}\n`);
    await indexInvalid(`entries:\n  grafana:\n  - version: 1.0.0\n    urls: [${'x'.repeat(2_200_000)}]\n`);
    server.files.set('/index.yaml', 'x'.repeat(17 * 1_048_576));
    await expect(versions()).rejects.toMatchObject({ reason: 'IndexInvalid' });
    server.files.set('/index.yaml', 'entries:\n  other: []\n');
    expect(await versions()).toEqual([]);
    server.files.delete('/index.yaml');
    await expect(versions()).rejects.toMatchObject({ reason: 'RepositoryUnreachable' });
  });

  it('finds its chart in a large index, and in one with another formatting', async () => {
    const entry = '  - version: 1.0.0\n    urls: [a.tgz]\n';
    const others = Array.from({ length: 50_000 }, (_, at) => `  other${at}:\n${entry}`).join('');
    server.files.set('/index.yaml', `entries:\n${others}  grafana:\n${entry}  zebra:\n${entry}`);
    expect(await versions()).toHaveLength(1);
    server.files.set('/index.yaml', `entries:\n${others}`);
    expect(await versions()).toEqual([]);
    server.files.set('/index.yaml', JSON.stringify({ entries: { grafana: [{ version: '1.0.0', urls: ['a.tgz'] }] } }));
    expect(await versions()).toHaveLength(1);
    server.files.set('/index.yaml', 'entries: {grafana: [{version: 1.0.0, urls: [http://127.0.0.1/a.tgz]}]}\n');
    expect(await versions()).toEqual([]);
  });

  it.each(['many keys in one flow map', 'anchors', 'aliases of aliases', 'escapes', 'deep flow maps'])(
    'does not block other work while its index is read: %s',
    async (shape) => {
      const worst = WORST_YAML[shape]!(300 * 1_024);
      server.files.set('/index.yaml', `entries:\n  grafana:\n  - version: 1.0.0\n    urls: [a.tgz]\n    x: ${worst}`);
      const delay = monitorEventLoopDelay({ resolution: 5 });
      delay.enable();
      await versions().catch((error: unknown) => expect(error).toMatchObject({ reason: 'IndexInvalid' }));
      delay.disable();
      // With a parser that compares each key with all earlier ones, an index of this length took 80 s.
      expect(delay.max / 1e6).toBeLessThan(5_000);
    },
  );

  it('returns no schema of an archive whose digest differs from the index', async () => {
    server.publish({ '8.1.0': await chartOf('{}') }, { '8.1.0': 'a'.repeat(64) });
    await expect(published()).rejects.toMatchObject({ reason: 'DigestMismatch' });
  });

  it.each<[string, () => Promise<Buffer> | Buffer]>([
    ['no archive', () => Buffer.from('none')],
    ['a truncated one', async () => (await chartOf('{}')).subarray(0, 60)],
    ['of another chart', () => chartOf('{}', 'other')],
    ['too large', () => Buffer.alloc(ARCHIVE_BYTES_MAX + 1)],
    ['too large when it is unpacked', () => archiveOf({ 'grafana/x': '0'.repeat(UNPACKED_BYTES_MAX + 1) })],
    ['without an object as its schema', () => chartOf('[]')],
    ['without JSON as its schema', () => chartOf('{"a": "\u0000"}')],
    ['with a schema that is too large', () => chartOf(JSON.stringify({ a: 'x'.repeat(SCHEMA_BYTES_MAX) }))],
    ['with a schema that is nested too deep', () => chartOf(nested(65))],
    ['with a schema that is nested without end', () => chartOf(nested(20_000))],
  ])('is refused if an archive is %s', async (_what, archive) => {
    await expect(schemaOf(await archive())).rejects.toMatchObject({ reason: 'ArchiveInvalid' });
  });

  it('returns schemas unchanged, including unusual names and characters', async () => {
    const schema = '{"__proto__":{"title":"\\u0000 \\ud800"},"constructor":1}';
    expect(await schemaOf(await chartOf(schema))).toBe(schema);
    expect(await schemaOf(await chartOf(nested(64)))).toBe(nested(64));
  });
});
