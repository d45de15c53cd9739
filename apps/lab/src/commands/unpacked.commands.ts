import { parseArguments } from '../arguments/arguments.js';
import { CommandFault, NOT_FOUND_EXIT_CODE, type Command } from './command.js';
import { packageNamed, upstreamVersion } from './packages.js';

/** The path at which apt caches a downloaded package. */
export const archiveOf = (name: string, version: string): string =>
  `/var/cache/apt/archives/${name}_${version.replaceAll(':', '%3a')}_amd64.deb`;

const ARCHIVE = /\/([a-z0-9.+-]+)_([^_/]+)_amd64\.deb$/;
const EXECUTABLE = 0o755;

/** A program of a package that is not installed. It passes its arguments to `lab-program`. */
const textOf = (program: string, version: string): string =>
  `#!/bin/sh\n# Stand-in of a simulated host (Fairlead lab).\nexec lab-program ${program} ${version} "$@"\n`;

/** `dpkg-deb --extract ARCHIVE FOLDER` */
export const dpkgDeb: Command = async ({ host, args }) => {
  const [archive = '', folder = ''] = parseArguments(args).positional;
  if (!args.includes('--extract')) throw new CommandFault('dpkg-deb: only --extract is simulated by Fairlead lab');
  const [, name = '', version = ''] = ARCHIVE.exec(archive) ?? [];
  const definition = packageNamed(name);
  if (definition === undefined || !(await host.files.exists(archive)))
    throw new CommandFault(`dpkg-deb: error: failed to read archive '${archive}': No such file or directory`, 2);
  for (const program of definition.programs) {
    const text = textOf(program, upstreamVersion(version.replaceAll('%3a', ':')));
    await host.files.writeText(`${folder}/usr/bin/${program}`, text, EXECUTABLE);
  }
  return 0;
};

/** `lab-program NAME VERSION WORD...`: runs a program as of that package version, which need not be installed. */
export const labProgram =
  (programs: Readonly<Record<string, Command>>): Command =>
  async (call) => {
    const [name = '', programVersion, ...args] = call.args;
    const program = programs[name];
    if (program !== undefined) return program({ ...call, name, args, programVersion });
    call.err(`sh: 1: ${name}: not found`);
    return NOT_FOUND_EXIT_CODE;
  };
