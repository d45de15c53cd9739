import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { isUrl, WorldFailure, type MirrorCatalogue, type MirrorComponent } from '@fairlead/contracts';
import {
  cacheFolder,
  createBundle,
  Downloads,
  inspectBundle,
  localMirror,
  openSource,
  type Bundle,
  type Progress,
} from '@fairlead/mirror';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io, Region } from '../io/io.js';
import type { Answer } from '../output/format.js';

export const addBundleCommands = (program: Command, io: Io): void => {
  const bundle = addGroup(program, 'bundle', 'Kubernetes in one file, for hosts without any network');
  addCreate(bundle, io);
  addInspect(bundle, io);
};

interface CreateOptions {
  readonly from?: string;
  readonly out?: string;
}

const addCreate = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'create <version...>',
    summary: 'Pack what clusters of these versions are made of',
    description:
      'Pack what clusters of these versions are made of: programs, container images and packages, each verified by its SHA-256. The bundle appears whole or not at all; a download that was cut off goes on the next time.',
    shared: 'out-file-alone',
    examples: [
      ['fairlead bundle create v1.34.4', 'From the mirror that "npm run kubernetes:build" made on this machine'],
      [
        'fairlead bundle create v1.33.13 v1.34.4 --from https://mirror.example/kubernetes -o kubernetes.tar.gz',
        'Two versions, of a mirror elsewhere',
      ],
    ],
  })
    .option('--from <mirror>', 'URL or folder of a mirror; else the one in the cache of this machine')
    .option('-o, --out <file>', 'write it there; else kubernetes-<versions>.tar.gz here')
    .action(runs(io, create));
};

const create = async ({ io }: Session, versions: readonly string[], options: CreateOptions): Promise<Answer> => {
  const location = locationOf(options.from, io);
  const named = versions.map((version) => (version.startsWith('v') ? version : `v${version}`));
  const file = resolve(io.cwd, options.out ?? `kubernetes-${named.join('-')}.tar.gz`);
  const region = io.isLive ? io.openRegion() : undefined;
  try {
    const bundle = await createBundle({
      source: openSource(location, { signal: io.interrupts.first }),
      versions: named,
      file,
      ...(isUrl(location) ? { downloads: new Downloads(join(cacheFolder(io.env), 'downloads')) } : {}),
      ...(region === undefined ? {} : { onProgress: drawing(region) }),
    });
    return bundleAnswer(file, bundle, `Made ${file}`);
  } catch (error) {
    throw asCliFailure(error, location);
  } finally {
    region?.close();
  }
};

/** A folder is told from where the user is. */
const locationOf = (from: string | undefined, io: Io): string => {
  if (from === undefined) return localMirror(io.env);
  return isUrl(from) ? from : resolve(io.cwd, from);
};

const addInspect = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'inspect <file>',
    summary: 'Check every file of a bundle, and say what is in it',
    shared: 'output',
    examples: [
      ['fairlead bundle inspect kubernetes-v1.34.4.tar.gz', 'Its versions, what stands in for what, and its SHA-256'],
    ],
  }).action(
    runs(io, async (_: Session, name: string) => {
      const file = resolve(io.cwd, name);
      await refuseNoFile(file);
      try {
        return bundleAnswer(file, await inspectBundle(file), `${file} is whole`);
      } catch (error) {
        throw asCliFailure(error, file);
      }
    }),
  );
};

const refuseNoFile = async (file: string): Promise<void> => {
  try {
    if ((await stat(file)).isFile()) return;
  } catch (error) {
    throw usageFailure(`There is no file ${file}.`, error instanceof Error ? error.message : undefined);
  }
  throw usageFailure(`${file} is not a file.`);
};

const asCliFailure = (error: unknown, location: string): unknown => {
  if (!(error instanceof WorldFailure)) return error;
  const { operation, target, message } = error;
  const help = isUrl(location)
    ? undefined
    : '"npm run kubernetes:build -- <version>" makes or completes the mirror of this machine.';
  return new CliFailure('failed', {
    code: 'cli.bundle',
    message: `${operation} of ${target} failed: ${message}`,
    help,
    cause: error,
  });
};

const MIB = 1024 ** 2;
const DRAW_BYTES = 4 * MIB;

const drawing = (region: Region): ((progress: Progress) => void) => {
  let drawnBytes = -Infinity;
  return ({ path, doneBytes, totalBytes }) => {
    if (doneBytes - drawnBytes < DRAW_BYTES && doneBytes < totalBytes) return;
    drawnBytes = doneBytes;
    const percent = Math.floor((100 * doneBytes) / totalBytes);
    region.draw([`${String(percent).padStart(3)} %  ${mib(doneBytes)} of ${mib(totalBytes)}  ${path}`]);
  };
};

const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;

const bundleAnswer = (file: string, { catalogue, sha256, size }: Bundle, words: string): Answer => ({
  data: {
    file,
    sha256,
    size,
    releases: catalogue.releases.map(({ version, components }) => ({ version, components })),
    packages: catalogue.packages.map(({ distribution, requested }) => ({ distribution, packages: requested })),
    files: catalogue.files,
  },
  table: bundleText(words, { catalogue, sha256, size }),
  names: [file],
});

const bundleText = (words: string, { catalogue, sha256, size }: Bundle): string =>
  [
    `${words}: ${catalogue.files.length} files, ${mib(size)}.`,
    '',
    ...catalogue.releases.flatMap(({ version, components }) => [
      `Kubernetes ${version}`,
      ...components.filter(({ name }) => name !== 'kubernetes').map((component) => `  ${componentText(component)}`),
    ]),
    ...packagesText(catalogue),
    '',
    `SHA-256 ${sha256}`,
    '',
  ].join('\n');

const componentText = ({ name, version, standsInFor }: MirrorComponent): string =>
  `${name} ${version}${standsInFor === undefined ? '' : `, which stands in for ${standsInFor}`}`;

const packagesText = ({ packages }: MirrorCatalogue): readonly string[] =>
  packages.flatMap(({ distribution, requested }) => [
    `Packages of ${distribution}`,
    ...requested.map((component) => `  ${componentText(component)}`),
  ]);
