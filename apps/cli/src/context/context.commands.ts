import { resolve } from 'node:path';
import type { Command } from 'commander';
import { addressOf } from '../api/access.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import {
  changeContexts,
  checkedContextName,
  contextNamed,
  contextsFile,
  readContexts,
  type Context,
  type Contexts,
} from '../instance/contexts.store.js';

export const addContextCommands = (program: Command, io: Io): void => {
  const context = addGroup(program, 'context', 'Choose between servers').alias('contexts');
  addList(context, io);
  addShow(context, io);
  addUse(context, io);
  addSet(context, io);
  addUnset(context, io);
  addDelete(context, io);
};

/** Omits the tokens. */
const viewOf = (name: string, { token, signedIn, ...context }: Context, current: string | null) => ({
  name,
  current: name === current,
  ...context,
  tokenStored: token !== undefined,
  ...(signedIn === undefined ? {} : { signedInAt: signedIn.issuer }),
});

const tokenText = ({ token, tokenFile, signedIn }: Context): string =>
  signedIn !== undefined ? 'signed in' : token !== undefined ? 'stored' : (tokenFile ?? 'none');

const contextsAnswer = ({ contexts, current }: Contexts): CommandOutput => ({
  data: Object.entries(contexts).map(([name, context]) => viewOf(name, context, current)),
  table: {
    columns: ['current', 'name', 'server', 'namespace', 'token'],
    rows: Object.entries(contexts).map(([name, context]) => [
      name === current ? '*' : '',
      name,
      context.server,
      context.namespace ?? 'default',
      tokenText(context),
    ]),
    empty: 'There are no contexts. Set one with "fairlead context set <name> --server <url>".',
  },
  names: Object.keys(contexts),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the contexts',
    shared: 'output',
    examples: [['fairlead context list', 'Show the contexts; * marks the current one']],
  }).action(runs(io, async ({ io: { env } }) => contextsAnswer(readContexts({ env }))));
};

const addShow = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'show [name]',
    summary: 'Show the current context, or another one',
    shared: 'output',
    examples: [['fairlead context show', 'Show which server commands use']],
  }).action(
    runs(io, async (session, given: string | undefined) => {
      const contexts = readContexts(session.io);
      const name = given ?? (session.io.env['FAIRLEAD_CONTEXT'] || contexts.current);
      if (name === null) {
        const table = 'No context is chosen: commands use the local instance, or the server that they name.';
        return { data: null, table, names: [] };
      }
      const context = contextNamed(contexts, name);
      const { server, namespace = 'default', caFile } = context;
      const lines = [
        `context    ${name}`,
        `server     ${server}`,
        `namespace  ${namespace}`,
        `token      ${tokenText(context)}`,
        ...(caFile === undefined ? [] : [`CA         ${caFile}`]),
        `file       ${contextsFile(session.io) ?? ''}`,
      ];
      return { data: viewOf(name, context, contexts.current), table: lines.join('\n'), names: [name] };
    }),
  );
};

const addUse = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'use <context>',
    summary: 'Make a context the current one',
    shared: 'output',
    examples: [['fairlead context use production', 'Use that server in every command from now on']],
  }).action(
    runs(io, async ({ io: { env } }, name: string) => {
      const { contexts } = await changeContexts({ env }, (all) => {
        contextNamed(all, name);
        return { ...all, current: name };
      });
      const { server } = contexts[name]!;
      return { data: { name, server }, table: `Commands use the context ${name} (${server}).`, names: [name] };
    }),
  );
};

const addUnset = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'unset',
    summary: 'Choose no context: commands use the local instance again',
    shared: 'output',
    examples: [['fairlead context unset', 'Use the local instance from now on']],
  }).action(
    runs(io, async ({ io: { env } }) => {
      await changeContexts({ env }, (all) => ({ ...all, current: null }));
      return { data: null, table: 'No context is chosen: commands use the local instance.', names: [] };
    }),
  );
};

interface SetOptions {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly tokenStdin?: true;
  readonly caFile?: string;
  readonly namespace?: string;
  readonly use?: true;
}

const addSet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'set <context>',
    summary: 'Set or change a context',
    description:
      'Set a context, or change what is given of it; the rest stays. The token stays in its file, or is read from standard input and stored with mode 0600. It is never printed. Of another server the earlier token is forgotten.',
    shared: 'none',
    examples: [
      [
        'fairlead context set production --server https://fairlead.example.com --token-file ~/.fairlead-token --use',
        'Set a context whose token is in a file, and make it the current one',
      ],
      [
        'fairlead context set production --server https://fairlead.example.com --token-stdin < token',
        'Store the token',
      ],
      ['fairlead context set production --namespace team-a', 'Change its namespace only'],
    ],
  })
    .option('--server <url>', 'address of the REST API')
    .option('--token-file <file>', 'file with the API token, which is read for each command')
    .option('--token-stdin', 'store the token that standard input holds')
    .option('--ca-file <file>', 'CA certificate for an https:// address, PEM')
    .option('-n, --namespace <name>', 'namespace of commands that name none (default: "default")')
    .option('--use', 'make it the current context')
    .action(runs(io, async (session, name: string, options: SetOptions) => setContext(session, name, options)));
};

const changed = (
  before: Context | undefined,
  { server = before?.server, tokenFile, caFile, namespace }: SetOptions,
  token: string | undefined,
): Context => {
  if (server === undefined)
    throw usageFailure(
      'A new context needs --server',
      'Give the address of the REST API, like https://fairlead.example.com.',
    );
  // Credentials for one server are not sent to another.
  const {
    token: storedToken,
    tokenFile: storedFile,
    caFile: storedCa,
    signedIn,
  } = (before?.server === server ? before : {}) as Partial<Context>;
  const given =
    token === undefined && tokenFile === undefined
      ? { token: storedToken, tokenFile: storedFile, signedIn }
      : { token, tokenFile, signedIn: undefined };
  const ca = caFile ?? storedCa;
  const ns = namespace ?? before?.namespace;
  return {
    server,
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(ns === undefined ? {} : { namespace: ns }),
    ...(given.token === undefined ? {} : { token: given.token }),
    ...(given.tokenFile === undefined ? {} : { tokenFile: given.tokenFile }),
    ...(given.signedIn === undefined ? {} : { signedIn: given.signedIn }),
  };
};

const setContext = async ({ io }: Session, given: string, options: SetOptions): Promise<void> => {
  const name = checkedContextName(given);
  if (options.tokenStdin === true && options.tokenFile !== undefined)
    throw usageFailure('--token-stdin and --token-file exclude each other');
  const token = options.tokenStdin === true ? (await io.readStdin()).trim() : undefined;
  if (token === '') throw usageFailure('Standard input holds no token');
  const { server, tokenFile, caFile, ...rest } = options;
  const whole: SetOptions = {
    ...rest,
    ...(server === undefined ? {} : { server: addressOf(server) }),
    ...(tokenFile === undefined ? {} : { tokenFile: resolve(io.cwd, tokenFile) }),
    ...(caFile === undefined ? {} : { caFile: resolve(io.cwd, caFile) }),
  };
  const { contexts, current } = await changeContexts(io, (all) => {
    const before = Object.hasOwn(all.contexts, name) ? all.contexts[name] : undefined;
    const context = changed(before, whole, token);
    return {
      ...all,
      contexts: { ...all.contexts, [name]: context },
      current: options.use === true ? name : all.current,
    };
  });
  const used = current === name ? '' : ` Use it with "fairlead context use ${name}" or --context ${name}.`;
  io.out(`The context ${name} is set (${contexts[name]!.server}).${used}\n`);
};

const addDelete = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'delete <context>',
    summary: 'Delete a context, with the token that is stored in it',
    shared: 'output',
    examples: [['fairlead context delete production', 'The token itself stays valid: see "fairlead token revoke"']],
  }).action(
    runs(io, async ({ io: { env } }, name: string) => {
      await changeContexts({ env }, (all) => {
        contextNamed(all, name);
        const contexts = Object.fromEntries(Object.entries(all.contexts).filter(([other]) => other !== name));
        return { ...all, contexts, current: all.current === name ? null : all.current };
      });
      return { data: { name }, table: `The context ${name} is deleted.`, names: [name] };
    }),
  );
};
