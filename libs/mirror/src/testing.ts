import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { MIRROR_FORMAT, mirrorPaths, type MirrorCatalogue } from '@fairlead/contracts';

const VERSIONS = ['v1.33.13', 'v1.34.4'];

const CONTENTS: Readonly<Record<string, string>> = Object.fromEntries([
  ...VERSIONS.flatMap((version) => [
    [mirrorPaths.binary(version, 'kubelet'), `kubelet ${version}\n`.repeat(20_000)],
    [mirrorPaths.image(version, 'etcd'), `etcd for ${version}`],
  ]),
  [mirrorPaths.cniPlugins('v1.9.1'), 'plugins'],
  [mirrorPaths.sharedImage('busybox', '1'), 'busybox'],
]);

/** The catalogue of a small mirror with two versions. */
const sampleCatalogue = (): MirrorCatalogue => ({
  format: MIRROR_FORMAT,
  platform: 'linux/amd64',
  releases: VERSIONS.map((version) => ({
    version,
    components: [{ name: 'etcd', version: '3.6.8', standsInFor: '3.6.5' }],
    binaries: [mirrorPaths.binary(version, 'kubelet')],
    cniPlugins: mirrorPaths.cniPlugins('v1.9.1'),
    images: [
      {
        name: 'etcd',
        reference: 'registry.k8s.io/etcd:3.6.5-0',
        path: mirrorPaths.image(version, 'etcd'),
        roles: ['control-plane'],
      },
    ],
    tools: [],
    conformance: [],
  })),
  images: [
    {
      name: 'busybox',
      reference: 'localhost/busybox:1',
      path: mirrorPaths.sharedImage('busybox', '1'),
      roles: ['control-plane', 'worker'],
    },
  ],
  packages: [],
  files: Object.entries(CONTENTS).map(([path, content]) => ({
    path,
    size: Buffer.byteLength(content),
    sha256: createHash('sha256').update(content).digest('hex'),
  })),
});

/** Writes the mirror into a folder. */
export const writeSampleMirror = (folder: string): void => {
  for (const [path, content] of Object.entries(CONTENTS)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  writeFileSync(join(folder, mirrorPaths.catalogue), JSON.stringify(sampleCatalogue()));
};

/** Replaces the server's response for a file; undefined lets the server answer normally. */
export type Interference = (path: string, from: number, answer: ServerResponse) => true | undefined;

/** A folder at a loopback URL, with misbehaviour of servers on demand. */
export class MirrorServer {
  readonly requests: string[] = [];
  interfere: Interference = () => undefined;
  private readonly server: Server;

  constructor(private readonly folder: string) {
    this.server = createServer((request, answer) => {
      const path = (request.url ?? '').slice(1);
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      this.requests.push(from === 0 ? path : `${path} from ${from}`);
      if (this.interfere(path, from, answer) === true) return;
      this.answer(path, from, answer);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => void this.server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }

  private answer(path: string, from: number, answer: ServerResponse): void {
    let content: Buffer;
    try {
      content = readFileSync(join(this.folder, path));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return void answer.writeHead(404).end();
    }
    if (from > 0 && from >= content.length) return void answer.writeHead(416).end();
    answer.writeHead(from > 0 ? 206 : 200, { 'content-length': content.length - from });
    answer.end(content.subarray(from));
  }
}
