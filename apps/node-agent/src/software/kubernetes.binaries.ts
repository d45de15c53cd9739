import { mirrorPaths, NODE_BINARIES, type Architecture, type NodeBinary } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import type { HostFiles } from '../files/files.ports.js';
import type { Mirror } from './mirror.js';
import type { InstalledPackage, PackageDriver } from './package.driver.js';

/** The path that distribution packages use too, and that the kubelet's unit contains. */
const FOLDER = '/usr/bin';
const EXECUTABLE = 0o755;

interface Question {
  readonly args: readonly string[];
  /** The first group is the version. */
  readonly answer: RegExp;
}

/** The version command of each program. */
const QUESTIONS: Readonly<Record<NodeBinary, Question>> = {
  kubeadm: { args: ['version', '-o', 'short'], answer: /^v(\S+)/ },
  kubelet: { args: ['--version'], answer: /^Kubernetes v(\S+)/ },
  kubectl: { args: ['version', '--client'], answer: /^Client Version: v(\S+)/ },
};

export const versionIn = (name: NodeBinary, output: string): string | undefined =>
  QUESTIONS[name].answer.exec(output.trim())?.[1];

const isBinary = (name: string): name is NodeBinary => (NODE_BINARIES as readonly string[]).includes(name);

export interface BinariesOptions {
  readonly host: HostPort;
  readonly files: HostFiles;
  readonly mirror: Mirror;
  readonly architecture: Architecture;
}

/** Kubernetes' own programs as files. A new file is asked for its version once, because nothing else changes them. */
export const kubernetesBinaries = ({ host, files, mirror, architecture }: BinariesOptions): PackageDriver => {
  const asked = new Map<string, { readonly identity: string; readonly version: string | undefined }>();
  const pathOf = (name: string): string => `${FOLDER}/${name}`;
  const stagedPathOf = (name: string, version: string): string => `${FOLDER}/.fairlead-${name}-v${version}`;

  const ask = async (name: NodeBinary): Promise<string | undefined> => {
    const stat = await files.stat(pathOf(name));
    if (stat === undefined) return undefined;
    const last = asked.get(name);
    if (last?.identity === stat.identity) return last.version;
    // A file that does not print its version is replaced.
    const { code, stdout } = await host.run(files.at(pathOf(name)), QUESTIONS[name].args, { timeoutMs: 30_000 });
    const version = code === 0 ? versionIn(name, stdout) : undefined;
    asked.set(name, { identity: stat.identity, version });
    return version;
  };

  const installed = async (names: readonly string[]): Promise<ReadonlyMap<string, InstalledPackage>> => {
    const found = await Promise.all(
      names.filter(isBinary).map(async (name) => [name, (await ask(name)) ?? ''] as const),
    );
    return new Map(
      found.filter(([, version]) => version !== '').map(([name, version]) => [name, { version, held: true }]),
    );
  };

  const differing = async (
    packages: Readonly<Record<string, string>>,
  ): Promise<readonly (readonly [NodeBinary, string])[]> => {
    const present = await installed(Object.keys(packages));
    return NODE_BINARIES.flatMap((name) => {
      const version = packages[name];
      return version === undefined || present.get(name)?.version === version ? [] : [[name, version] as const];
    });
  };

  const stage = async (packages: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, version] of await differing(packages)) {
      // Fails with the available versions if the mirror lacks this one.
      await mirror.release(`v${version}`);
      const path = mirrorPaths.binary(`v${version}`, name, architecture);
      await mirror.place(path, stagedPathOf(name, version), EXECUTABLE);
    }
  };

  return {
    installed,
    stage,
    program: async (name, version) => {
      if (!isBinary(name)) throw new Error(`${name} is no program of Kubernetes`);
      await stage({ [name]: version });
      const isInstalled = (await installed([name])).get(name)?.version === version;
      return files.at(isInstalled ? pathOf(name) : stagedPathOf(name, version));
    },
    install: async (packages) => {
      await stage(packages);
      // Running programs are not affected; the rename replaces the file atomically.
      for (const [name, version] of await differing(packages))
        await host.rename(stagedPathOf(name, version), pathOf(name));
    },
  };
};
