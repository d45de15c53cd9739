import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { checkServer } from './nats.check.js';
import { natsConfig } from './nats.config.js';
import { byVersionDescending, isNewEnough, parseNatsVersion } from './nats.version.js';
import { withReleaseDownload } from './release.download.js';
import { releaseCpuOf, releaseUrl } from './release.pins.js';

const golden = goldenBeside(import.meta.url);

describe('the version of a NATS server', () => {
  it.each([
    ['nats-server: v2.15.1\n', '2.15.1'],
    ['nats-server: v2.12.0-RC.3', '2.12.0-RC.3'],
    ['nats-server: v2.9.10', '2.9.10'],
    ['command not found', undefined],
  ])('is read from %j', (output, version) => expect(parseNatsVersion(output)).toBe(version));

  it.each([
    ['2.15.1', true],
    ['2.12.0', true],
    ['2.12.0-RC.3', true],
    ['2.11.9', false],
    ['2.9.10', false],
    ['3.0.0', true],
  ])('%s is new enough: %s', (version, expected) => expect(isNewEnough(version)).toBe(expected));

  it('orders the cache by number, not by letter', () =>
    expect(['2.9.10', '2.15.1', '2.12.15'].sort(byVersionDescending)).toEqual(['2.15.1', '2.12.15', '2.9.10']));
});

describe('a server that is too old', () => {
  const connected = (version: string): NatsConnection =>
    ({ info: { version, server_name: 'old-one' }, getServer: () => '127.0.0.1:4222' }) as unknown as NatsConnection;

  it('is refused with its version and a remedy', () =>
    expect(checkServer(connected('2.10.27'))).rejects.toMatchObject({
      code: 'nats-too-old',
      message: expect.stringMatching(
        /^NATS server old-one is 2\.10\.27; Fairlead needs 2\.12\.0 or newer .* unset NATS_URL/,
      ),
    }));
});

describe('the configuration of the server', () => {
  it('matches this text', () => {
    const auth = {
      operatorJwt: 'OPERATOR-JWT',
      system: { publicKey: 'ASYSTEM', jwt: 'SYSTEM-JWT' },
      account: { publicKey: 'AFAIRLEAD', jwt: 'FAIRLEAD-JWT' },
      nodes: { publicKey: 'ANODES', jwt: 'NODES-JWT' },
    };
    const config = { host: '127.0.0.1', port: 20_001, monitorPort: 20_002, storeDir: '/data/nats', auth };
    golden('nats.conf.golden', natsConfig(config));
    expect(natsConfig({ ...config, storeMaxBytes: 4096 })).toContain('\n  max_file_store: 4096\n');
    expect(natsConfig({ ...config, monitorHost: '0.0.0.0' })).toContain('http: "0.0.0.0:20002"');
    golden(
      'nats.tls.conf.golden',
      natsConfig({ ...config, host: '192.0.2.1', certificateFile: '/data/keys/nats-server.pem' }),
    );
    golden(
      'nats.websocket.conf.golden',
      natsConfig({
        ...config,
        ...{ host: '192.0.2.1', certificateFile: '/data/keys/nats-server.pem', websocketPort: 443 },
      }),
    );
  });
});

describe('the release archive', () => {
  it('is pinned for the CPUs supported by Node, and for no other system', () => {
    expect(releaseCpuOf('linux', 'x64')).toBe('amd64');
    expect(releaseCpuOf('linux', 'mips')).toBeUndefined();
    expect(releaseCpuOf('darwin', 'arm64')).toBeUndefined();
    expect(releaseUrl('arm64')).toMatch(
      /^https:\/\/github\.com\/nats-io\/nats-server\/releases\/download\/v[\d.]+\/nats-server-v[\d.]+-linux-arm64\.tar\.gz$/,
    );
  });

  it('is not unpacked if its checksum differs', async () => {
    const use = (): never => {
      throw new Error('it was used');
    };
    const reasons = await withReleaseDownload(use, () => Promise.resolve(Buffer.from('not the archive')));
    expect(reasons).toEqual([expect.stringMatching(/its SHA-256 is [0-9a-f]{64}, not the pinned [0-9a-f]{64}$/)]);
  });

  it('reports why it cannot be downloaded', async () => {
    const fetching = (): Promise<never> =>
      Promise.reject(new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND') }));
    expect(await withReleaseDownload(() => Promise.resolve(undefined), fetching)).toEqual([
      expect.stringMatching(/fetch failed \(getaddrinfo ENOTFOUND\)$/),
    ]);
  });
});
