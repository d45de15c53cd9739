import { Argument, type Command } from 'commander';
import type { Api } from '../api/api.js';
import { addCommand, runs } from '../command/command.js';
import { clusterAt, Session } from '../command/session.js';
import { readContexts } from '../instance/contexts.store.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { candidatesFor, type Candidates } from './candidates.js';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from './scripts.js';

/** Users do not wait longer for a completion. */
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

/**
 * If the server is unreachable or its response is invalid, there are no names; no error is printed while the user is
 * typing.
 */
const namesOf = async (candidates: Candidates, session: Session): Promise<readonly string[]> => {
  if (candidates.names === undefined) return [];
  if (candidates.names === 'context') return contextNames(session);
  try {
    const deadline = new Promise<readonly string[]>((resolve) => setTimeout(resolve, NAMES_TIMEOUT_MS, []).unref());
    return await Promise.race([namesFrom(meant(session, candidates), candidates), deadline]);
  } catch {
    return [];
  }
};

/** A session for the server and the namespace in the line. */
const meant = ({ io }: Session, { given = {} }: Candidates): Session => {
  const { server, tokenFile, caFile, data, context, namespace } = given;
  return new Session(io, {
    ...{ server, tokenFile, caFile, data, context },
    ...(namespace === undefined ? {} : { namespace }),
  });
};

const contextNames = ({ io }: Session): readonly string[] => {
  try {
    return Object.keys(readContexts(io).contexts);
  } catch (error) {
    if (error instanceof CliFailure) return [];
    throw error;
  }
};

/** A name with other characters could be parsed by the shell. */
const SAFE_NAME = /^[\w.:@/+-]+$/;

const namesFrom = async (session: Session, candidates: Candidates): Promise<readonly string[]> => {
  const found = await listOf(session, candidates);
  return found.map(({ name }) => name).filter((name) => SAFE_NAME.test(name));
};

type Names = Promise<readonly { readonly name: string }[]>;

const specsOf = async (api: Api, connection: string | undefined): Names => {
  const connections =
    connection === undefined ? (await api.list('/connections')).map(({ name }) => name) : [connection];
  const specs = await Promise.all(
    connections.map((name) => api.list('/mcir/connections/{connection}/specs', { connection: name }).catch(() => [])),
  );
  return [...new Set(specs.flat().map(({ name }) => name))].map((name) => ({ name }));
};

const listOf = async (session: Session, { names: kind = 'cluster', cluster = '', given = {} }: Candidates): Names => {
  const { api, namespace } = session;
  switch (kind) {
    case 'pool':
      return (await api.get('/ns/{namespace}/clusters/{cluster}/manifest', clusterAt(session, cluster))).spec.pools;
    case 'snapshot':
      return (await api.list('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', clusterAt(session, cluster))).map(
        (one) => ({ name: one.name }),
      );
    case 'generation': {
      const { items } = await api.get(
        '/ns/{namespace}/clusters/{cluster}/manifest/generations',
        clusterAt(session, cluster),
      );
      return items.map(({ generation }) => ({ name: String(generation) }));
    }
    case 'template':
      return (await api.list('/ns/{namespace}/cluster-templates', { namespace })).map(({ metadata }) => metadata);
    case 'spec':
      return specsOf(api, given['connection']);
    case 'version':
      return (await api.get('/version')).kubernetes.known.map((name) => ({ name }));
    case 'context':
      return [];
    case 'cluster':
      return api.list('/ns/{namespace}/clusters', { namespace });
    case 'node':
      return api.list('/ns/{namespace}/clusters/{cluster}/nodes', clusterAt(session, cluster));
    case 'connection':
      return api.list('/connections');
    case 'realm':
      return api.list('/ns/{namespace}/realms', { namespace });
    case 'application':
      return api.list('/applications');
    case 'namespace':
      return api.list('/ns');
  }
};
