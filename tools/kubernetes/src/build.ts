import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import {
  ETCD_TOOLS,
  imagesOf,
  mirrorPaths,
  NODE_BINARIES,
  SHARED_IMAGES,
  type KubernetesRelease,
  type MirrorFile,
} from '@fairlead/contracts';
import {
  bytesOfFile,
  digestOfFile,
  fileEntry,
  sha256Text,
  TAR_END,
  tarHeader,
  tarPadding,
  writeWhole,
} from '@fairlead/mirror';
import { run } from './command.js';
import { HOST_PACKAGES, TEST_SHELL, TEST_TOOLS, writeRepository, type Distribution } from './debian.js';
import { DebianPrograms } from './debian.programs.js';
import { CONFORMANCE_PROGRAMS, testImages } from './conformance.js';
import { folderOf, linkOrCopy } from './files.js';
import { buildGo, buildOwn } from './go.js';
import {
  BUSYBOX_NAMES,
  busyboxLayer,
  componentImage,
  etcdImage,
  makeImage,
  networkLayer,
  PROTOCOLS,
} from './images.js';
import type { Piece, Workshop } from './pieces.js';
import {
  cniPluginsRecipe,
  conformanceRecipe,
  corednsRecipe,
  etcdOf,
  etcdRecipe,
  FLANNEL_VERSION,
  flannelRecipe,
  kubernetesRecipe,
  type GoRecipe,
} from './recipes.js';
import { Refusal } from './refusal.js';

/** Incremented when the assembly of a piece changes, so that existing pieces are built again. */
const ASSEMBLY = 1;
/** Like ASSEMBLY, for the test images only. */
const TEST_IMAGES = 2;
const ETCD = 'etcd';
const PAUSE_SOURCE = fileURLToPath(new URL('../pause/main.go', import.meta.url));

export interface BuildPlaces {
  readonly mirror: string;
  /** The folder for compiled programs, downloaded packages and stamps. */
  readonly work: string;
  readonly signal: AbortSignal;
}

/** Builds the pieces of a mirror, each once. */
export class Builder {
  private readonly debian: DebianPrograms;

  constructor(
    private readonly places: BuildPlaces,
    private readonly workshop: Workshop,
  ) {
    this.debian = new DebianPrograms(places);
  }

  /** All files for clusters of this version, except for the packages of hosts. */
  async release(release: KubernetesRelease, network: Distribution): Promise<void> {
    await this.workshop.ensure(this.cniPlugins(release.cniPlugins));
    await this.workshop.ensure(this.etcdTools(release));
    await this.workshop.ensure(this.kubernetes(release, network));
    await this.workshop.ensure(this.etcdImage(release, network));
    await this.workshop.ensure(this.flannelImage(network));
    await this.workshop.ensure(this.busyboxImage(network));
    await rm(this.compiled(kubernetesRecipe(release.version)), { recursive: true, force: true });
  }

  /** The files of a complete version; undefined if some are missing. */
  async releaseFiles(release: KubernetesRelease, network: Distribution): Promise<readonly MirrorFile[] | undefined> {
    return this.filesOf([
      this.cniPlugins(release.cniPlugins),
      this.etcdTools(release),
      this.kubernetes(release, network),
      this.etcdImage(release, network),
      this.flannelImage(network),
      this.busyboxImage(network),
    ]);
  }

  packageFiles(distribution: Distribution): Promise<readonly MirrorFile[] | undefined> {
    return this.filesOf([this.repository(distribution)]);
  }

  conformanceFiles(version: string, network: Distribution): Promise<readonly MirrorFile[] | undefined> {
    return this.filesOf([this.conformanceTools(version, network)]);
  }

  private async filesOf(pieces: readonly Piece[]): Promise<readonly MirrorFile[] | undefined> {
    const files: MirrorFile[] = [];
    for (const piece of pieces) {
      const done = await this.workshop.done(piece);
      if (done === undefined) return undefined;
      files.push(...done);
    }
    return files;
  }

  async packages(distribution: Distribution): Promise<void> {
    await this.workshop.ensure(this.repository(distribution));
  }

  async conformance(version: string, network: Distribution): Promise<void> {
    await this.workshop.ensure(this.conformanceTools(version, network));
    await rm(this.compiled(conformanceRecipe(version)), { recursive: true, force: true });
  }

  private kubernetes(release: KubernetesRelease, network: Distribution): Piece {
    const { version } = release;
    const recipes = {
      kubernetes: kubernetesRecipe(version),
      etcd: etcdRecipe(etcdOf(release).version),
      coredns: corednsRecipe(release.coredns),
    };
    return this.piece(
      `release-${version}`,
      `images of Kubernetes ${version}`,
      { recipes, release, network: network.name, PROTOCOLS },
      async (into) => {
        const folders = {
          kubernetes: await this.compile(recipes.kubernetes),
          coredns: await this.compile(recipes.coredns),
          pause: await this.pauseProgram(),
        };
        await this.confirm(release, folders.kubernetes);
        for (const name of NODE_BINARIES)
          await place(join(folders.kubernetes, name), into, mirrorPaths.binary(version, name));
        const layer = networkLayer(await this.debian.network(network));
        for (const { name, reference } of imagesOf(release)) {
          if (name === ETCD) continue; // Its own piece.
          const file = await folderOf(join(into, mirrorPaths.image(version, name)));
          await makeImage(file, [reference], componentImage(name, folders, layer));
        }
      },
    );
  }

  /** Checks that the programs report the versions in the catalogue row. */
  private async confirm(release: KubernetesRelease, folder: string): Promise<void> {
    if (process.platform !== 'linux' || process.arch !== 'x64') return; // These programs cannot run here.
    const kubeadm = join(folder, 'kubeadm');
    const options = { signal: this.places.signal };
    const version = (await run(kubeadm, ['version', '-o', 'short'], options)).trim();
    if (version !== release.version) throw new Refusal(`kubeadm says that it is ${version}, not ${release.version}`);
    const listed = await run(kubeadm, ['config', 'images', 'list', '--kubernetes-version', release.version], options);
    const asked = listed.trim().split('\n').sort().join('\n');
    const known = imagesOf(release)
      .map(({ reference }) => reference)
      .sort()
      .join('\n');
    if (asked !== known)
      throw new Refusal(`kubeadm ${version} asks for\n${asked}\nbut libs/contracts/src/software.ts says\n${known}`);
  }

  private cniPlugins(version: string): Piece {
    const recipe = cniPluginsRecipe(version);
    return this.piece(`cni-plugins-${version}`, `archive of the CNI plugins ${version}`, { recipe }, async (into) => {
      const folder = await this.compile(recipe);
      const path = mirrorPaths.cniPlugins(version);
      const file = await folderOf(join(into, path));
      await pipeline(
        Readable.from(tarOf(folder, Object.values(recipe.programs).sort()), { objectMode: false }),
        createGzip({ level: 9 }),
        createWriteStream(file),
      );
      await writeBeside(into, path);
    });
  }

  private etcdTools(release: KubernetesRelease): Piece {
    const { version } = etcdOf(release);
    const recipe = etcdRecipe(version);
    return this.piece(`etcd-tools-${version}`, `tools of etcd ${version}`, { recipe }, async (into) => {
      const folder = await this.compile(recipe);
      for (const name of ETCD_TOOLS) await place(join(folder, name), into, mirrorPaths.etcdTool(version, name));
    });
  }

  private etcdImage(release: KubernetesRelease, network: Distribution): Piece {
    const { version } = release;
    const recipe = etcdRecipe(etcdOf(release).version);
    const image = imagesOf(release).find(({ name }) => name === ETCD);
    if (image === undefined) throw new Error(`Kubernetes ${version} names no image of etcd`);
    return this.piece(
      `etcd-image-${version}`,
      `image of etcd for Kubernetes ${version}`,
      { recipe, image, network: network.name },
      async (into) => {
        const file = await folderOf(join(into, mirrorPaths.image(version, ETCD)));
        await makeImage(
          file,
          [image.reference],
          etcdImage(await this.compile(recipe), await this.debian.busybox(network)),
        );
      },
    );
  }

  private flannelImage(network: Distribution): Piece {
    const recipe = flannelRecipe(FLANNEL_VERSION);
    const { reference, path } = SHARED_IMAGES.flannel;
    return this.piece(
      'flannel',
      `image of flannel ${FLANNEL_VERSION}`,
      { recipe, network: network.name, PROTOCOLS },
      async (into) => {
        const folder = await this.compile(recipe);
        await makeImage(await folderOf(join(into, path)), [reference], {
          layers: [networkLayer(await this.debian.network(network))],
          programs: { 'usr/local/bin/flanneld': join(folder, 'flanneld') },
        });
      },
    );
  }

  private busyboxImage(network: Distribution): Piece {
    const { reference, path } = SHARED_IMAGES.busybox;
    return this.piece('busybox', 'image of busybox', { BUSYBOX_NAMES, network: network.name }, async (into) => {
      await makeImage(await folderOf(join(into, path)), [reference], {
        layers: [busyboxLayer(await this.debian.busybox(network))],
        programs: {},
        config: { command: ['sh'] },
      });
    });
  }

  private repository(distribution: Distribution): Piece {
    const folder = mirrorPaths.packages(distribution.name);
    const title = `packages of ${distribution.name} for hosts`;
    return this.piece(
      `packages-${distribution.name}`,
      title,
      { distribution: distribution.suite, HOST_PACKAGES },
      async (into, note) => {
        const packages = await this.debian.packages(distribution, HOST_PACKAGES, note);
        await writeRepository(packages, join(into, folder));
      },
    );
  }

  private conformanceTools(version: string, network: Distribution): Piece {
    const recipe = conformanceRecipe(version);
    const title = `tests of Kubernetes ${version}`;
    return this.piece(
      `conformance-${version}`,
      title,
      { recipe, TEST_IMAGES, network: network.name },
      async (into, note) => {
        const folder = await this.compile(recipe);
        for (const name of CONFORMANCE_PROGRAMS)
          await place(join(folder, name), into, mirrorPaths.conformance(version, name));
        const tools = await this.debian.layerOf(network, TEST_TOOLS, note);
        const images = testImages({
          programs: folder,
          source: await this.sourceOf(recipe),
          busybox: busyboxLayer(await this.debian.busybox(network)),
          shell: await this.debian.layerOf(network, TEST_SHELL),
          tools,
        });
        for (const { name, references, recipe: image } of await images) {
          const path = mirrorPaths.conformance(version, `${name}.tar`);
          await makeImage(await folderOf(join(into, path)), references, image);
        }
      },
    );
  }

  private piece(name: string, title: string, recipe: unknown, make: Piece['make']): Piece {
    return { name, title, root: this.places.mirror, recipe: { ASSEMBLY, recipe }, make };
  }

  private compiled(recipe: GoRecipe): string {
    return join(this.places.work, 'compiled', recipe.name);
  }

  /** Returns the folder of a recipe's programs; builds them if they do not exist. */
  private async compile(recipe: GoRecipe): Promise<string> {
    const root = this.compiled(recipe);
    const { signal } = this.places;
    await this.workshop.ensure({
      name: `compiled-${recipe.name}`,
      title: `compiling ${recipe.title}`,
      root,
      recipe,
      make: async (into, onNote) => {
        await buildGo(recipe, { folder: this.workshop.scratch(`module-${recipe.name}`), into, signal, onNote });
      },
    });
    return root;
  }

  private async pauseProgram(): Promise<string> {
    const root = join(this.places.work, 'compiled', 'pause');
    const source = await digestOfFile(PAUSE_SOURCE);
    await this.workshop.ensure({
      name: 'compiled-pause',
      title: 'compiling pause',
      root,
      recipe: source,
      make: (into, onNote) =>
        buildOwn(PAUSE_SOURCE, join(into, 'pause'), {
          folder: this.workshop.scratch('module-pause'),
          into,
          signal: this.places.signal,
          onNote,
        }),
    });
    return root;
  }

  private async sourceOf(recipe: GoRecipe): Promise<string> {
    const text = await run('go', ['mod', 'download', '-json', recipe.modules[0] ?? ''], { signal: this.places.signal });
    return (JSON.parse(text) as { Dir: string }).Dir;
  }
}

/** Places a program at its path of the mirror, with its `.sha256` file if the official site has one. */
const place = async (program: string, into: string, path: string): Promise<void> => {
  const file = await folderOf(join(into, path));
  await linkOrCopy(program, file);
  if (path.startsWith('release/')) await writeBeside(into, path);
};

const writeBeside = async (into: string, path: string): Promise<void> => {
  const file: MirrorFile = { path, ...(await digestOfFile(join(into, path))) };
  await writeWhole(join(into, mirrorPaths.sha256(path)), sha256Text(file));
};

async function* tarOf(folder: string, names: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const name of names) {
    const file = join(folder, name);
    const { size } = await stat(file);
    yield tarHeader(fileEntry(`./${name}`, size, 0o755));
    yield* bytesOfFile(file);
    yield tarPadding(size);
  }
  yield TAR_END;
}
