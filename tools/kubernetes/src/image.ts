import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import {
  bytesOfFile,
  digestOf,
  fileEntry,
  TAR_END,
  tarHeader,
  tarPadding,
  writeWhole,
  type Bytes,
  type TarEntry,
} from '@fairlead/mirror';

/** An entry of a layer; the content of a file is a buffer or the path of a file. */
export interface LayerItem {
  readonly entry: TarEntry;
  readonly content?: Buffer | string;
}
export type Layer = readonly LayerItem[];

export interface ImageConfig {
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
}

const ENVIRONMENT = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];

/** A program on the build machine, at this path of the image. */
export const programItem = async (path: string, file: string): Promise<LayerItem> => ({
  entry: fileEntry(path, (await stat(file)).size, 0o755),
  content: file,
});

export const textItem = (path: string, text: string): LayerItem => ({
  entry: fileEntry(path, Buffer.byteLength(text)),
  content: Buffer.from(text),
});

/**
 * Writes an image as an archive for `docker load` and `ctr images import`. Only the layers are needed, no registry or
 * container engine; the same layers give the same bytes.
 */
export const writeImage = async (
  file: string,
  references: readonly string[],
  layers: readonly Layer[],
  config: ImageConfig,
): Promise<void> => {
  const digests = await Promise.all(layers.map(async (layer) => (await digestOf(layerBytes(layer))).sha256));
  const configText = JSON.stringify({
    architecture: 'amd64',
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: {
      Env: ENVIRONMENT,
      ...(config.entrypoint === undefined ? {} : { Entrypoint: config.entrypoint }),
      ...(config.command === undefined ? {} : { Cmd: config.command }),
    },
    rootfs: { type: 'layers', diff_ids: digests.map((digest) => `sha256:${digest}`) },
  });
  const configName = `${createHash('sha256').update(configText).digest('hex')}.json`;
  const manifest = [
    { Config: configName, RepoTags: references, Layers: digests.map((digest) => `${digest}/layer.tar`) },
  ];
  await writeWhole(
    file,
    archiveBytes([
      ...layers.map((layer, index) => ({
        path: `${digests[index] ?? ''}/layer.tar`,
        size: sizeOf(layer),
        bytes: () => layerBytes(layer),
      })),
      textMember(configName, configText),
      textMember('manifest.json', JSON.stringify(manifest)),
    ]),
  );
};

interface Member {
  readonly path: string;
  readonly size: number;
  readonly bytes: () => Bytes | Iterable<Uint8Array>;
}

const textMember = (path: string, text: string): Member => ({
  path,
  size: Buffer.byteLength(text),
  bytes: () => [Buffer.from(text)],
});

async function* archiveBytes(members: readonly Member[]): AsyncGenerator<Uint8Array, void> {
  for (const { path, size, bytes } of members) {
    yield tarHeader(fileEntry(path, size));
    yield* bytes();
    yield tarPadding(size);
  }
  yield TAR_END;
}

const HEADER_BYTES = 512;

const sizeOf = (layer: Layer): number =>
  layer.reduce((sum, { entry }) => sum + HEADER_BYTES + entry.size + tarPadding(entry.size).length, TAR_END.length);

async function* layerBytes(layer: Layer): AsyncGenerator<Uint8Array, void> {
  for (const { entry, content } of layer) {
    yield tarHeader(entry);
    if (typeof content === 'string') yield* bytesOfFile(content);
    else if (content !== undefined) yield content;
    yield tarPadding(entry.size);
  }
  yield TAR_END;
}
