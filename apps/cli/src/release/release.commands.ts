import type { Schemas } from '@fairlead/api-client';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { compareVersions, minorOf, signatureOf, VERIFICATIONS } from '@fairlead/contracts';
import { publicKeyOf, signatureText, writeWhole } from '@fairlead/mirror';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Api } from '../api/api.js';
import type { ReleaseRequest, ReleaseView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { checkCatalogue, readCatalogue } from './catalogue.files.js';
import { listAnswer, releaseAnswer, signersAnswer } from './release.text.js';

export const addReleaseCommands = (program: Command, io: Io): void => {
  const release = addGroup(
    program,
    'release',
    'Manage the releases of Kubernetes that clusters are created with and upgraded to',
  ).alias('releases');
  addList(release, io);
  addGet(release, io);
  addAdd(release, io);
  addWithdraw(release, io);
  addImport(release, io);
  addSigners(release, io);
  addTrust(release, io);
  addSign(release, io);
};

const versionOption = (text: string): string => {
  if (!/^v?1\.\d{1,3}\.\d{1,3}$/.test(text)) throw new InvalidArgumentError('Give a version like v1.34.4.');
  return text.startsWith('v') ? text : `v${text}`;
};

const minorOption = (text: string): string => {
  if (!/^v?1\.\d{1,3}$/.test(text)) throw new InvalidArgumentError('Give a minor version like 1.34.');
  return text.replace(/^v/, '');
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    shared: 'installation',
    summary: 'List the releases of Kubernetes that this installation knows',
    description:
      'List the releases, the newest first, with what has run each: real (Kubernetes on real hosts), lab (only the lab, which simulates hosts), or listed (nothing; its row is taken from the sources of Kubernetes).',
    examples: [
      ['fairlead release list', 'List all releases'],
      ['fairlead release list --minor 1.34', 'List the patches of a minor version'],
    ],
  })
    .alias('ls')
    .option('--minor <minor>', 'only the patches of this minor version', minorOption)
    .action(
      runs(io, async (session, { minor }: { readonly minor?: string }) => {
        const items = await session.api.list('/releases');
        return listAnswer(items.filter(({ version }) => minor === undefined || minorOf(version) === minor));
      }),
    );
};

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <version>',
    shared: 'installation',
    summary: 'Show a release with what belongs to it',
    examples: [['fairlead release get v1.34.4', 'Show the images, packages and digests of a release']],
  }).action(
    runs(io, async (session, version: string) =>
      releaseAnswer(await session.api.get('/releases/{version}', { version: versionOption(version) })),
    ),
  );
};

interface AddOptions {
  readonly like?: string;
  readonly kubeadmApi?: ReleaseRequest['kubeadmApi'];
  readonly etcd?: string;
  readonly coredns?: string;
  readonly pause?: string;
  readonly containerd?: string;
  readonly cniPlugins?: string;
  readonly verified: ReleaseRequest['verified'];
  readonly sha256?: readonly string[];
}

const addAdd = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'add <version>',
    shared: 'installation',
    summary: 'Add a release, or replace what is known of it',
    description:
      'Add a release of Kubernetes. What is not given is taken from the latest known patch before it, in the same minor version. Compare with "kubeadm config images list" of that release: a patch may bring another etcd or CoreDNS. Without --sha256, hosts that download from the official site need digests of their connection.',
    examples: [
      ['fairlead release add v1.34.12', 'Add a security patch with the images of the patch before it'],
      [
        'fairlead release add v1.37.2 --like v1.36.4 --etcd 3.7.0-0 --coredns v1.14.6',
        'Add a minor version, with what differs from the one before',
      ],
      [
        'fairlead release add v1.34.12 --sha256 amd64/kubeadm=<sha256> amd64/kubelet=<sha256> amd64/kubectl=<sha256>',
        'Add a release with the digests of its programs',
      ],
    ],
  })
    .option('--like <version>', 'release from which everything is taken that is not given', versionOption)
    .addOption(
      new Option('--kubeadm-api <version>', 'API version of its kubeadm configuration').choices([
        'kubeadm.k8s.io/v1beta3',
        'kubeadm.k8s.io/v1beta4',
      ]),
    )
    .option('--etcd <tag>', 'tag of its etcd image, such as 3.6.5-0')
    .option('--coredns <tag>', 'tag of its CoreDNS image, such as v1.12.1')
    .option('--pause <tag>', 'tag of its pause image, such as 3.10.1')
    .option('--containerd <version>', 'version of containerd on new nodes')
    .option('--cni-plugins <version>', 'version of the CNI plugins')
    .addOption(new Option('--verified <what>', 'what has run it').choices([...VERIFICATIONS]).default('listed'))
    .option('--sha256 <digest...>', 'SHA-256 of its programs as <architecture>/<program>=<digest>')
    .action(
      runs(io, async ({ api }, version: string, options: AddOptions) => {
        const named = versionOption(version);
        const request = requestOf(await baseOf(api, named, options.like), options);
        return releaseAnswer((await api.put('/releases/{version}', { version: named }, { body: request })).data);
      }),
    );
};

/** The release from which a new one takes its defaults. */
const baseOf = async (api: Api, version: string, like: string | undefined): Promise<ReleaseView> => {
  if (like !== undefined) return api.get('/releases/{version}', { version: like });
  const before = (await api.list('/releases')).find(
    (one) => minorOf(one.version) === minorOf(version) && compareVersions(one.version, version) <= 0,
  );
  if (before !== undefined) return before;
  throw usageFailure(`No earlier patch of ${minorOf(version)} is known: name a release with --like.`);
};

const requestOf = (base: ReleaseView, { like: _like, sha256, verified, ...given }: AddOptions): ReleaseRequest => {
  const { kubeadmApi, etcd, coredns, pause, containerd, cniPlugins } = base;
  const digests = sha256 === undefined ? null : digestsOf(sha256);
  return { kubeadmApi, etcd, coredns, pause, containerd, cniPlugins, ...given, verified, sha256: digests };
};

const DIGEST = /^(amd64|arm64)\/(kubeadm|kubelet|kubectl|cniPlugins)=([0-9a-f]{64})$/;

const digestsOf = (given: readonly string[]): NonNullable<Schemas['ReleaseRequest']['sha256']> => {
  const digests: Record<string, Record<string, string>> = {};
  for (const text of given) {
    const [, architecture = '', program = '', digest = ''] = DIGEST.exec(text) ?? [];
    if (digest === '') throw usageFailure(`"${text}" is not <architecture>/<program>=<SHA-256>.`);
    digests[architecture] = { ...digests[architecture], [program]: digest };
  }
  // The server refuses an architecture with a missing program.
  return digests as NonNullable<Schemas['ReleaseRequest']['sha256']>;
};

const addWithdraw = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'withdraw <version>',
    shared: 'installation',
    summary: 'Create and upgrade no cluster with a release any more',
    description: 'Withdraw a release. Clusters that run it are not changed. "fairlead release add" offers it again.',
    examples: [['fairlead release withdraw v1.34.3 --reason "its kubelet loses mounts"', 'Withdraw a release']],
  })
    .requiredOption('--reason <text>', 'why; users who request it see it')
    .action(
      runs(io, async ({ api }, version: string, { reason }: { readonly reason: string }) =>
        releaseAnswer(
          (await api.post('/releases/{version}/withdraw', { version: versionOption(version) }, { body: { reason } }))
            .data,
        ),
      ),
    );
};

const addImport = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'import <catalogue>',
    shared: 'installation',
    summary: 'Import a signed catalogue of releases',
    description:
      'Read a catalogue and its signatures (<catalogue>.sig), and send both to the server. The catalogue is a file or a URL that ends with .json, or a mirror: a folder or URL with releases.json. The server accepts it only with the signature of a trusted key, before it expires, and only if it is later than the last one of its signer.',
    examples: [
      ['fairlead release import https://releases.example.org/releases.json', 'Import a catalogue from a URL'],
      ['fairlead release import /srv/kubernetes', 'Import the catalogue of a mirror'],
    ],
  }).action(
    runs(io, async ({ api, io: own }: Session, source: string) =>
      signersAnswer(
        (await api.post('/release-signers/catalogue', {}, { body: await readCatalogue(source, own) })).data,
      ),
    ),
  );
};

const addSigners = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'signers',
    shared: 'installation',
    summary: 'List who may sign catalogues of releases, and the last catalogue of each',
    examples: [['fairlead release signers', 'List the trusted keys']],
  }).action(runs(io, async ({ api }) => signersAnswer(await api.get('/release-signers'))));
};

const addTrust = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'trust [key...]',
    shared: 'installation',
    summary: 'Set the keys that may sign catalogues of releases',
    description:
      'Set the public keys, as "fairlead bundle key" prints them. They replace those that were trusted before; without any, no catalogue is accepted. Releases that are known stay.',
    examples: [['fairlead release trust ed25519:...', 'Accept catalogues of one signer only']],
  }).action(
    runs(io, async ({ api }, keys: readonly string[]) =>
      signersAnswer((await api.put('/release-signers', {}, { body: { signers: keys } })).data),
    ),
  );
};

const addSign = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'sign <file>',
    shared: 'output',
    summary: 'Sign a catalogue of releases',
    description: 'Check a catalogue, and write its signature to <file>.sig.',
    examples: [['fairlead release sign releases.json --key signing.pem', 'Sign a catalogue']],
  })
    .requiredOption('--key <file>', 'file with the private key')
    .action(
      runs(io, async (_session: Session, name: string, { key }: { readonly key: string }) => {
        const file = resolve(io.cwd, name);
        const [text, privateKey] = [await textOf(file), await textOf(resolve(io.cwd, key))];
        checkCatalogue(text);
        const sha256 = createHash('sha256').update(text).digest('hex');
        await writeWhole(signatureOf(file), signatureText(privateKey, 'releases', sha256));
        const signedBy = publicKeyOf(privateKey);
        return {
          data: { file, signature: signatureOf(file), signedBy },
          table: `Wrote ${signatureOf(file)}, by ${signedBy}.\n`,
          names: [signatureOf(file)],
        };
      }),
    );
};

const textOf = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliFailure('failed', { code: 'cli.file-unreadable', message: `${file} cannot be read.`, cause });
  }
};
