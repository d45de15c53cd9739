import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { check, itWith } from '@fairlead/testing/programs';
import { Mirror } from '../../software/mirror.js';
import { MemoryHost } from '../../../test/memory.host.js';
import { realFiles } from './real.files.js';
import { urlSource } from './url.source.js';

const CONTENT = Buffer.from('kubelet '.repeat(50_000));
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

describe('a mirror at a web address', () => {
  let root: string;
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const asked: string[] = [];

  const location = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/mirror/`;
  const source = () => urlSource(location(), realFiles(root));

  beforeEach(async () => {
    asked.length = 0;
    root = newFolder('url');
    server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.range ?? ''}`.trim());
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    removeFolder(root);
  });

  it('returns a file with its mode and its checksum', async () => {
    answer = (_request, response) => response.end(CONTENT);
    expect(await source().get('release/kubelet', '/usr/bin/kubelet', 0o755)).toBe(SHA256);
    expect((await readFile(join(root, 'usr/bin/kubelet'))).equals(CONTENT)).toBe(true);
    expect((await stat(join(root, 'usr/bin/kubelet'))).mode & 0o777).toBe(0o755);
    expect(asked).toEqual(['/mirror/release/kubelet']);
  });

  describe('behind a proxy', () => {
    const requests: string[] = [];
    let proxy: Server;
    const proxyUrl = (): string => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

    beforeEach(async () => {
      requests.length = 0;
      proxy = createServer((request, response) => {
        requests.push(`${request.method} ${request.url}`);
        response.end('through the proxy');
      });
      proxy.on('connect', (request, socket) => {
        requests.push(`${request.method} ${request.url}`);
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    });
    afterEach(async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    });

    it('is read through the proxy, and directly if the proxy does not apply to its network', async () => {
      answer = (_request, response) => response.end('directly');
      const http = proxyUrl();
      const through = urlSource('http://mirror.example.org/k8s/', realFiles(root), { proxy: { http } });
      expect(await through.text('catalogue.json')).toBe('through the proxy');
      expect(requests).toEqual(['GET http://mirror.example.org/k8s/catalogue.json']);
      const near = urlSource(location(), realFiles(root), { proxy: { http, no: ['127.0.0.0/8'] } });
      expect(await near.text('catalogue.json')).toBe('directly');
    });

    itWith('openssl')('reaches a server with TLS through the tunnel only, and checks its certificate', async () => {
      const at = (name: string): string => join(root, name);
      const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=mirror.example.org'];
      check('openssl', [...args, '-keyout', at('key'), '-out', at('cert')]);
      const tls = { key: await readFile(at('key')), cert: await readFile(at('cert')) };
      const secure = createSecureServer(tls, (_request, response) => response.end('by TLS'));
      await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
      proxy.removeAllListeners('connect');
      proxy.on('connect', (request, socket) => {
        requests.push(`${request.method} ${request.url}`);
        const upstream = connect((secure.address() as AddressInfo).port, '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
          upstream.pipe(socket).pipe(upstream);
        });
      });
      try {
        const https = proxyUrl();
        const through = urlSource('https://mirror.example.org/k8s/', realFiles(root), {
          proxy: { https },
          connectMs: 3_000,
        });
        // The server has presented its certificate, which is verified.
        await expect(through.text('catalogue.json')).rejects.toThrow(/^self-signed certificate$/);
        expect(new Set(requests)).toEqual(new Set(['CONNECT mirror.example.org:443']));
      } finally {
        secure.closeAllConnections();
        secure.close();
      }
    });

    it('uses a proxy tunnel for HTTPS, and does not retry if the proxy refuses', async () => {
      const https = proxyUrl();
      const through = urlSource('https://mirror.example.org/k8s/', realFiles(root), { proxy: { https } });
      await expect(through.text('catalogue.json')).rejects.toThrow(
        /^the proxy 127\.0\.0\.1:\d+ refuses mirror\.example\.org:443: it answers 403$/,
      );
      expect(requests).toEqual(['CONNECT mirror.example.org:443']);
    });
  });

  it('that is unreachable is reported soon, and fails at once for the next file', async () => {
    let lookups = 0;
    const lookup = (): void => {
      lookups += 1; // A name server whose responses are dropped.
    };
    const dropped = urlSource('https://mirror.example.org/', realFiles(root), { connectMs: 30, lookup });
    const words = /^cannot reach mirror\.example\.org:443 from \S+: no answer for 0\.03 s; .*profile\.proxy/;
    await expect(dropped.text('catalogue.json')).rejects.toThrow(words);
    await expect(dropped.text('catalogue.json.sig')).rejects.toThrow(words);
    expect(lookups).toBe(2);
  });

  it('that disconnects in the middle of a file is asked for the rest', async () => {
    answer = (request, response) => {
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      if (from === 0) {
        response.writeHead(200, { 'content-length': CONTENT.length });
        response.write(CONTENT.subarray(0, 1_000), () => response.destroy());
        return;
      }
      response.writeHead(206, { 'content-length': CONTENT.length - from });
      response.end(CONTENT.subarray(from));
    };
    expect(await source().get('kubelet', '/kubelet', 0o755)).toBe(SHA256);
    expect(asked[1]).toMatch(/^\/mirror\/kubelet bytes=\d+-$/);
  });

  it('without support for ranges restarts the download', async () => {
    let times = 0;
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length });
      if (times++ === 0) response.write(CONTENT.subarray(0, 1_000), () => response.destroy());
      else response.end(CONTENT);
    };
    expect(await source().get('kubelet', '/kubelet', 0o755)).toBe(SHA256);
  });

  it('may redirect', async () => {
    answer = (request, response) => {
      if (request.url === '/elsewhere') response.end(CONTENT);
      else response.writeHead(302, { location: '/elsewhere' }).end();
    };
    expect(await source().get('kubelet', '/kubelet', 0o755)).toBe(SHA256);
  });

  it('without the file is asked once, and the failure has the full URL', async () => {
    answer = (_request, response) => response.writeHead(404).end();
    await expect(source().get('kubelet', '/kubelet', 0o755)).rejects.toMatchObject({
      operation: 'download',
      message: 'the server answers 404',
    });
    expect(asked).toHaveLength(1);
    expect(await source().text('catalogue.json')).toBeUndefined();
  });

  it('with one wrong byte in a file writes nothing, and names the file', async () => {
    const wrong = Buffer.from(CONTENT);
    wrong[CONTENT.length - 1] = 0;
    answer = (request, response) => {
      if (request.url?.endsWith('.sha256') === true) response.end(createHash('sha256').update(wrong).digest('hex'));
      else response.end(wrong);
    };
    const trust = { digests: { 'release/kubelet': SHA256 } };
    const mirror = new Mirror({ location: location(), trust, files: source() }, realFiles(root), new MemoryHost());
    await expect(mirror.place('release/kubelet', '/usr/bin/kubelet', 0o755)).rejects.toMatchObject({
      target: expect.stringContaining('/mirror/release/kubelet'),
      message: expect.stringMatching(/SHA-256|checksum/i),
    });
    expect(await readdir(join(root, 'usr/bin')).catch(() => [])).toEqual([]);
    expect(asked).toEqual(['/mirror/release/kubelet']);
  });

  it.each([{}, { unsigned: true as const }])(
    'over http is not used at all if nothing pins its files: %o',
    async (trust) => {
      answer = (_request, response) => response.end(CONTENT);
      const mirror = new Mirror({ location: location(), trust, files: source() }, realFiles(root), new MemoryHost());
      await expect(mirror.place('release/kubelet', '/usr/bin/kubelet', 0o755)).rejects.toMatchObject({
        operation: 'trust',
      });
      expect(asked).toEqual([]);
    },
  );
});
