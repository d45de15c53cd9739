import type { Command } from 'commander';
import { versionRanges } from '@fairlead/contracts';
import type { VersionView } from './api/views.js';
import { addCommand, runs } from './command/command.js';
import type { Session } from './command/session.js';
import { CliFailure } from './failures.js';
import type { Io } from './io/io.js';
import { VERSION } from './version.js';

export const addVersionCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'version',
    shared: 'installation',
    summary: 'Print the versions of this program and of the server',
    examples: [
      ['fairlead version', 'Print both versions, and what the server supports'],
      ['fairlead version --client', 'Print the version of this program only'],
    ],
  })
    .option('--client', 'print only the version of this program')
    .action(
      runs(io, async (session, { client }: { readonly client?: true }) => {
        const server = client === true ? undefined : await serverVersion(session);
        return {
          data: { client: VERSION, server: server ?? null },
          table: versionText(server, client === true),
          names: [VERSION],
        };
      }),
    );
};

/** That there is no server to ask is no reason to fail. */
const serverVersion = async (session: Session): Promise<VersionView | undefined> => {
  try {
    return await session.api.get('/version');
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'unreachable') return undefined;
    throw error;
  }
};

const versionText = (server: VersionView | undefined, isClientOnly: boolean): string => {
  if (isClientOnly) return `client      ${VERSION}`;
  if (server === undefined) return `client      ${VERSION}\nserver      none is reached`;
  const { known, default: preferred } = server.kubernetes;
  return [
    `client      ${VERSION}`,
    `server      ${server.fairlead}`,
    `kubernetes  ${versionRanges(known)}; default: ${preferred}`,
    ...networkLines(server),
  ].join('\n');
};

/** One line each, because whether the data plane of a network was ever run matters to whoever chooses it. */
const networkLines = ({ networks }: VersionView): readonly string[] =>
  networks.map(({ cni, version, images, verifiedOn }, index) => {
    const source = images === 'mirror' ? ' with the images of a mirror' : '';
    const verified = verifiedOn === 'real' ? 'run on real hosts' : 'applied in the lab only, data plane never run';
    return `${(index === 0 ? 'networks' : '').padEnd(12)}${cni} ${version}${source}: ${verified}`;
  });
