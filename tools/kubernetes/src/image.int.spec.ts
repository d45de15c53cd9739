import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { bytesOfFile, readTar } from '@fairlead/mirror';
import { newFolder } from '@fairlead/testing';
import { componentImage, etcdImage, makeImage, networkLayer } from './images.js';

let folder: string;
beforeEach(() => {
  folder = newFolder('image');
  for (const name of ['kube-proxy', 'pause']) writeFileSync(join(folder, name), `program ${name}`, { mode: 0o755 });
});
afterEach(() => rmSync(folder, { recursive: true }));

const folders = () => ({ kubernetes: folder, coredns: folder, pause: folder });

const membersOf = async (file: string): Promise<Map<string, Buffer>> => {
  const found = new Map<string, Buffer>();
  for await (const { entry, content } of readTar(bytesOfFile(file))) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(Buffer.from(part));
    found.set(entry.path, Buffer.concat(parts));
  }
  return found;
};

const json = (bytes: Buffer | undefined): unknown => JSON.parse(String(bytes));

describe('an image without a base', () => {
  it('names its layers by their checksums, as docker load and ctr images import require', async () => {
    const file = join(folder, 'kube-proxy.tar');
    await makeImage(
      file,
      ['registry.k8s.io/kube-proxy:v1.34.4'],
      componentImage('kube-proxy', folders(), networkLayer([])),
    );
    const members = await membersOf(file);
    const [manifest] = json(members.get('manifest.json')) as { Config: string; RepoTags: string[]; Layers: string[] }[];
    expect(manifest?.RepoTags).toEqual(['registry.k8s.io/kube-proxy:v1.34.4']);
    const digests = (manifest?.Layers ?? []).map((layer) =>
      createHash('sha256')
        .update(members.get(layer) ?? '')
        .digest('hex'),
    );
    expect(manifest?.Layers).toEqual(digests.map((digest) => `${digest}/layer.tar`));
    expect(json(members.get(manifest?.Config ?? ''))).toMatchObject({
      rootfs: { diff_ids: digests.map((digest) => `sha256:${digest}`) },
    });
  });

  it('is reproducible from the same programs', async () => {
    const [one, other] = [join(folder, 'one.tar'), join(folder, 'other.tar')];
    await makeImage(one, ['registry.k8s.io/pause:3.10'], componentImage('pause', folders(), []));
    utimesSync(join(folder, 'pause'), 1, 1);
    await makeImage(other, ['registry.k8s.io/pause:3.10'], componentImage('pause', folders(), []));
    expect(readFileSync(other).equals(readFileSync(one))).toBe(true);
  });

  it('of etcd has the programs that stream a snapshot out of its container', async () => {
    for (const name of ['etcd', 'etcdctl', 'etcdutl']) writeFileSync(join(folder, name), name, { mode: 0o755 });
    const file = join(folder, 'etcd.tar');
    await makeImage(file, ['registry.k8s.io/etcd:3.6.5-0'], etcdImage(folder, Buffer.from('busybox')));
    const members = await membersOf(file);
    const paths: string[] = [];
    for (const [path, bytes] of members)
      if (path.endsWith('layer.tar'))
        for await (const { entry } of readTar(Readable.from([bytes]))) paths.push(entry.path);
    expect(paths).toEqual(expect.arrayContaining(['usr/bin/cp', 'usr/bin/sh', 'usr/local/bin/etcdutl']));
  });

  it('of kube-proxy maps protocol numbers to names for nft: kube-proxy does not recognize its own rules by number', async () => {
    const file = join(folder, 'kube-proxy.tar');
    await makeImage(file, ['kube-proxy'], componentImage('kube-proxy', folders(), networkLayer([])));
    const found = new Map<string, string>();
    for (const [path, bytes] of await membersOf(file))
      if (path.endsWith('layer.tar'))
        for await (const { entry, content } of readTar(Readable.from([bytes])))
          for await (const part of content) found.set(entry.path, String(part));
    expect(found.get('etc/protocols')).toMatch(/^tcp 6$/m);
    expect(found.get('etc/protocols')).toMatch(/^udp 17$/m);
    expect(found.get('etc/protocols')).toMatch(/^sctp 132$/m);
  });

  it('of pause contains only its program', async () => {
    const file = join(folder, 'pause.tar');
    await makeImage(file, ['registry.k8s.io/pause:3.10'], componentImage('pause', folders(), []));
    const layers = [...(await membersOf(file)).keys()].filter((path) => path.endsWith('layer.tar'));
    expect(layers).toHaveLength(1);
  });
});
