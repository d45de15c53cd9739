import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import {
  errorCodeOf,
  isUrl,
  type MirrorCatalogue,
  type MirrorComponent,
  mirrorPaths,
  MirrorTrust,
  signatureOf,
  ExternalFailure,
} from '@fairlead/contracts';
import {
  bundleSigner,
  cacheFolder,
  catalogueOf,
  createBundle,
  Downloads,
  inspectBundle,
  localMirror,
  newSigningKey,
  openSource,
  publicKeyOf,
  signBundle,
  signMirror,
  writeWhole,
  type Bundle,
  type Progress,
} from '@fairlead/mirror';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io, Region } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';

export const addBundleCommands = (program: Command, io: Io): void => {
  const bundle = addGroup(
    program,
    'bundle',
    'Create, sign and verify bundles of Kubernetes software for hosts without a network',
  );
  addCreate(bundle, io);
  addInspect(bundle, io);
  addKey(bundle, io);
  addSign(bundle, io);
  addVerify(bundle, io);
};

interface TrustOptions {
  readonly catalogueSha256?: string;
  readonly signedBy?: readonly string[];
  readonly unsigned?: true;
}

interface CreateOptions extends TrustOptions {
  readonly from?: string;
  readonly out?: string;
  readonly key?: string;
}

const SIGNED_BY = [
  '--signed-by <key...>',
  'require a signature by one of these public keys, as printed by "fairlead bundle key"',
] as const;

const addCreate = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'create <version...>',
    summary: 'Create a bundle for one or more Kubernetes versions',
    description:
      'Create a bundle with the binaries, container images and packages of these versions, each verified by its SHA-256. The file is written only when it is complete; an interrupted download resumes the next time.',
    shared: 'out-file-alone',
    examples: [
      ['fairlead bundle create v1.34.4', 'Use the mirror built by "npm run kubernetes:build" on this machine'],
      [
        'fairlead bundle create v1.33.13 v1.34.4 --from https://mirror.example/kubernetes --signed-by ed25519:... -o kubernetes.tar.gz',
        'Use a remote mirror whose catalogue is signed with this key, for two versions',
      ],
      [
        'fairlead bundle create v1.34.4 --key signing.pem',
        'Sign the bundle; the signature is written to kubernetes-v1.34.4.tar.gz.sig',
      ],
    ],
  })
    .option('--from <mirror>', 'URL or folder of a mirror (default: the mirror in the cache of this machine)')
    .option('--catalogue-sha256 <digest>', 'with --from: require catalogue.json to have this SHA-256')
    .option(SIGNED_BY[0], `with --from: ${SIGNED_BY[1]}`)
    .addOption(
      new Option(
        '--unsigned',
        'with --from: accept a catalogue that is neither pinned nor signed; not over http',
      ).conflicts(['catalogueSha256', 'signedBy']),
    )
    .option('--key <file>', 'sign the bundle with the private key in this file')
    .option('-o, --out <file>', 'file to write (default: kubernetes-<versions>.tar.gz in the current folder)')
    .action(runs(io, create));
};

const create = async ({ io }: Session, versions: readonly string[], options: CreateOptions): Promise<CommandOutput> => {
  const location = locationOf(options.from, io);
  const trust = trustOf(options);
  const named = versions.map((version) => (version.startsWith('v') ? version : `v${version}`));
  const file = resolve(io.cwd, options.out ?? `kubernetes-${named.join('-')}.tar.gz`);
  const region = io.isLive ? io.openRegion() : undefined;
  try {
    const bundle = await createBundle({
      source: openSource(location, { signal: io.interrupts.first }),
      trust,
      ...(options.key === undefined ? {} : { signingKey: await keyIn(options.key, io) }),
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

/** The mirror in the cache belongs to this user. For any other mirror, the user must state why it can be trusted. */
const trustOf = ({ from, catalogueSha256, signedBy, unsigned }: CreateOptions): MirrorTrust => {
  if (from === undefined) return { unsigned: true };
  return parsedTrust({
    ...(catalogueSha256 === undefined ? {} : { catalogueSha256 }),
    ...(signedBy === undefined ? {} : { signedBy: [...signedBy] }),
    ...(unsigned === undefined ? {} : { unsigned }),
  });
};

const OPTION_OF: Readonly<Record<string, string>> = { catalogueSha256: '--catalogue-sha256', signedBy: '--signed-by' };

const parsedTrust = (given: MirrorTrust): MirrorTrust => {
  const read = MirrorTrust.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw usageFailure(`${OPTION_OF[String(issue?.path[0])] ?? 'An option'} ${issue?.message ?? 'is wrong'}.`);
};

const keyIn = async (name: string, io: Io): Promise<string> => {
  const file = resolve(io.cwd, name);
  await refuseNoFile(file);
  return readFile(file, 'utf8');
};

/** A relative path is resolved against the working directory. */
const locationOf = (from: string | undefined, io: Io): string => {
  if (from === undefined) return localMirror(io.env);
  return isUrl(from) ? from : resolve(io.cwd, from);
};

const addInspect = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'inspect <file>',
    summary: 'Check every file of a bundle, and list its contents',
    shared: 'output',
    examples: [
      ['fairlead bundle inspect kubernetes-v1.34.4.tar.gz', 'List versions, files and the SHA-256 of a bundle'],
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

const addKey = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'key <file>',
    summary: 'Create a key that signs bundles and mirrors',
    description:
      'Create an Ed25519 key. The private key is written to the file, readable only by its owner; the public key is printed, for signedBy of connections. If the file exists, its public key is printed and nothing is changed.',
    shared: 'output',
    examples: [['fairlead bundle key signing.pem', 'Create a key, and print the value for signedBy']],
  }).action(
    runs(io, async (_: Session, name: string) => {
      const file = resolve(io.cwd, name);
      try {
        return keyAnswer(file, await ensureKey(file));
      } catch (error) {
        throw asKeyFailure(error, file);
      }
    }),
  );
};

const KEY_MODE = 0o600;

const ensureKey = async (file: string): Promise<string> => {
  if (await isThere(file)) return publicKeyOf(await readFile(file, 'utf8'));
  const { privateKey, publicKey } = newSigningKey();
  await writeWhole(file, privateKey, KEY_MODE);
  return publicKey;
};

const keyAnswer = (file: string, publicKey: string): CommandOutput => ({
  data: { file, publicKey },
  table: `${publicKey}\n`,
  names: [publicKey],
});

const addSign = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'sign <bundle|mirror>',
    summary: 'Sign a bundle, or the catalogue of a mirror in a folder',
    description:
      'Write a signature to <bundle>.sig, or to catalogue.json.sig in the folder of a mirror. Every file of a bundle is checked first.',
    shared: 'output',
    examples: [
      ['fairlead bundle sign kubernetes-v1.34.4.tar.gz --key signing.pem', 'Sign a bundle'],
      ['fairlead bundle sign /srv/kubernetes --key signing.pem', 'Sign the catalogue of a mirror'],
    ],
  })
    .requiredOption('--key <file>', 'file with the private key')
    .action(
      runs(io, async (_: Session, name: string, { key }: { readonly key: string }) => {
        const target = resolve(io.cwd, name);
        try {
          const privateKey = await keyIn(key, io);
          if (await isFolder(target)) {
            await catalogueOf(openSource(target), { unsigned: true });
            await signMirror(target, privateKey);
            return signedAnswer(join(target, mirrorPaths.catalogue), publicKeyOf(privateKey));
          }
          await refuseNoFile(target);
          await inspectBundle(target);
          await signBundle(target, privateKey);
          return signedAnswer(target, publicKeyOf(privateKey));
        } catch (error) {
          throw asCliFailure(error, target);
        }
      }),
    );
};

const signedAnswer = (file: string, signedBy: string): CommandOutput => ({
  data: { file, signature: signatureOf(file), signedBy },
  table: `Wrote ${signatureOf(file)}, by ${signedBy}.\n`,
  names: [signatureOf(file)],
});

const addVerify = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'verify <bundle|mirror>',
    summary: 'Verify a signature and every file of a bundle',
    description:
      'Verify that one of the keys signed the bundle or the catalogue of the mirror. For a bundle, every file is checked too; for a mirror, only the catalogue.',
    shared: 'output',
    examples: [
      ['fairlead bundle verify kubernetes-v1.34.4.tar.gz --signed-by ed25519:...', 'Verify a bundle before use'],
    ],
  })
    .requiredOption(...SIGNED_BY)
    .action(
      runs(io, async (_: Session, name: string, { signedBy }: { readonly signedBy: readonly string[] }) => {
        const target = resolve(io.cwd, name);
        const trust = parsedTrust({ signedBy: [...signedBy] });
        try {
          if (await isFolder(target)) {
            await catalogueOf(openSource(target), trust);
            return verifiedAnswer(join(target, mirrorPaths.catalogue), null);
          }
          await refuseNoFile(target);
          const { sha256 } = await inspectBundle(target);
          return verifiedAnswer(target, { sha256, signer: await bundleSigner(target, sha256, signedBy) });
        } catch (error) {
          throw asCliFailure(error, target);
        }
      }),
    );
};

const verifiedAnswer = (
  file: string,
  bundle: { readonly sha256: string; readonly signer: string } | null,
): CommandOutput => ({
  data: { file, ...bundle },
  table:
    bundle === null
      ? `${file} is signed.\n`
      : `${file} is whole and signed by ${bundle.signer}.\nSHA-256 ${bundle.sha256}\n`,
  names: [file],
});

const isThere = async (path: string): Promise<boolean> => stat(path).then(() => true, isMissing);
const isFolder = async (path: string): Promise<boolean> => stat(path).then((found) => found.isDirectory(), isMissing);

const isMissing = (error: unknown): false => {
  if (errorCodeOf(error) === 'ENOENT') return false;
  throw error;
};

const refuseNoFile = async (file: string): Promise<void> => {
  try {
    if ((await stat(file)).isFile()) return;
  } catch (error) {
    throw usageFailure(`There is no file ${file}.`, error instanceof Error ? error.message : undefined);
  }
  throw usageFailure(`${file} is not a file.`);
};

const asKeyFailure = (error: unknown, file: string): unknown => {
  if (!(error instanceof ExternalFailure)) return error;
  return new CliFailure('failed', { code: 'cli.bundle', message: `${file}: ${error.message}`, cause: error });
};

const asCliFailure = (error: unknown, location: string): unknown => {
  if (!(error instanceof ExternalFailure)) return error;
  const { operation, target, message } = error;
  const help =
    isUrl(location) || error.operation.startsWith('verify') || error.operation.startsWith('trust')
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

const bundleAnswer = (file: string, { catalogue, sha256, size }: Bundle, words: string): CommandOutput => ({
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
