import { Argument, type Command } from 'commander';
import type { Api } from '../api/api.ports.js';
import { clusterAt } from '../command/session.js';
import { addCommand, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { candidatesFor, type Candidates } from './candidates.js';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from './scripts.js';

/** Users do not wait longer for a name. */
const NAMES_TIMEOUT_MS = 1_000;

export const addCompletionCommands = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'completion',
    summary: 'Print a script that completes commands, options and names',
    shared: 'none',
    examples: [
      ['source <(fairlead completion bash)', 'Bash: for this shell; add the line to ~/.bashrc for every shell'],
      ['fairlead completion zsh > "${fpath[1]}/_fairlead"', 'Zsh'],
      ['fairlead completion fish | source', 'Fish'],
    ],
  })
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action(runs(io, async (_session, shell: Shell) => io.out(COMPLETION_SCRIPTS[shell])));

  program
    .command('__complete [words...]', { hidden: true })
    .description('Candidates for the last word, one a line.')
    .passThroughOptions()
    .allowUnknownOption()
    .action(runs(io, (session, words: string[]) => complete(program, session, words)));
};

const complete = async (program: Command, session: Session, words: readonly string[]): Promise<void> => {
  const candidates = candidatesFor(program, words);
  const lines = [
    ...candidates.words,
    ...(await namesOf(candidates, session)),
    ...(candidates.files === true ? [':files'] : []),
  ];
  if (lines.length > 0) session.io.out(`${lines.join('\n')}\n`);
};

/** A server that is away has no names; that is no reason to disturb someone who is typing. */
const namesOf = async (candidates: Candidates, session: Session): Promise<readonly string[]> => {
  if (candidates.names === undefined) return [];
  try {
    const deadline = new Promise<readonly string[]>((resolve) => setTimeout(resolve, NAMES_TIMEOUT_MS, []).unref());
    return await Promise.race([namesFrom(session.api, candidates, session), deadline]);
  } catch (error) {
    if (error instanceof CliFailure) return [];
    throw error;
  }
};

const namesFrom = async (api: Api, { names, cluster }: Candidates, session: Session): Promise<readonly string[]> => {
  const found = await listOf(api, names ?? 'cluster', cluster, session);
  return found.map(({ name }) => name);
};

const listOf = (
  api: Api,
  kind: NonNullable<Candidates['names']>,
  cluster: string | undefined,
  session: Session,
): Promise<readonly { readonly name: string }[]> => {
  switch (kind) {
    case 'cluster':
      return api.clusters(session.namespace);
    case 'node':
      return api.nodes(clusterAt(session, cluster ?? ''));
    case 'connection':
      return api.connections();
    case 'realm':
      return api.realms(session.namespace);
    case 'application':
      return api.applications();
    case 'namespace':
      return api.namespaces();
  }
};
