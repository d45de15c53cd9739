import { resolve } from 'node:path';
import type { Command } from 'commander';
import { addressOf } from '../api/access.js';
import type { WhoamiView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { Session, type SharedOptions } from '../command/session.js';
import { CliFailure, usageFailure, wordsOf } from '../failures.js';
import { changeContext, changeContexts, checkedContextName, chosenContext } from '../instance/contexts.store.js';
import type { Io } from '../io/io.js';
import { revoked, signInByBrowser, signInByDevice } from '../api/issuer.effects.js';

interface LoginOptions extends SharedOptions {
  readonly browser?: true;
}

export const addLoginCommands = (program: Command, io: Io): void => {
  addLogin(program, io);
  addLogout(program, io);
};

const addLogin = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'login [context]',
    shared: 'installation',
    summary: 'Sign in at the identity provider of a server',
    description:
      'Sign in with OpenID Connect at the identity provider of a server, and keep the tokens in the context, in its file of mode 0600. An address and a code are printed, for a browser on any device; with --browser an address for a browser on this machine. Commands refresh the sign-in while it lasts. A token that the context has stays there for after "fairlead logout".',
    examples: [
      ['fairlead login', 'Sign in to the server of the current context'],
      [
        'fairlead login production --server https://fairlead.example.com',
        'Set a context for a server, make it the current one if there is none, and sign in',
      ],
      ['fairlead login --browser', 'Sign in with a browser on this machine, without a code'],
    ],
  })
    .option('--browser', 'use a browser on this machine, which answers over loopback, instead of a code')
    .action(
      runs(io, async (session, given: string | undefined, options: LoginOptions) => {
        const name = contextFor(session, given, options);
        const chosen = options.server === undefined ? new Session(session.io, { context: name }) : session;
        const { kind: _, page: _page, ...access } = await chosen.api.get('/sign-in/issuer');
        const signIn = options.browser === true ? signInByBrowser : signInByDevice;
        const signedIn = await signIn(session.io, access);
        await keepContext(session, name, options);
        await changeContext(session.io, name, async (context) => ({ ...context, signedIn }));
        const signed = new Session(session.io, { context: name });
        const who = await signed.api.get('/whoami');
        const { server } = signed.access;
        return { data: { context: name, server, ...who }, table: signedInText(name, who), names: [who.name] };
      }),
    );
};

const signedInText = (context: string, { name, roles }: WhoamiView): string => {
  const held = roles.map(({ namespace, role }) => `${role} in ${namespace === '*' ? 'all namespaces' : namespace}`);
  const roleText = held.length === 0 ? 'no role here: ask an administrator for one' : held.join(', ');
  return `Signed in as ${name} in the context ${context}: ${roleText}.`;
};

/** The context that is signed in: the given one, or the one that is used. */
const contextFor = ({ io }: Session, given: string | undefined, options: LoginOptions): string => {
  if (given !== undefined) {
    if (options.context !== undefined) throw usageFailure('The context is given twice', 'Leave out --context.');
    return checkedContextName(given);
  }
  const chosen = options.server === undefined ? chosenContext(options, io) : undefined;
  if (chosen !== undefined) return chosen.name;
  throw usageFailure(
    'A sign-in is kept in a context, and none is chosen',
    'Name one: "fairlead login production --server https://fairlead.example.com" sets it.',
  );
};

/** Sets the context when a server is given. Credentials for one server are not kept for another. */
const keepContext = async ({ io }: Session, name: string, { server, caFile }: LoginOptions): Promise<void> => {
  if (server === undefined) return;
  const address = addressOf(server);
  await changeContexts(io, (all) => {
    const before = Object.hasOwn(all.contexts, name) ? all.contexts[name] : undefined;
    const context = {
      ...(before?.server === address ? before : {}),
      server: address,
      ...(caFile === undefined ? {} : { caFile: resolve(io.cwd, caFile) }),
    };
    return { ...all, current: all.current ?? name, contexts: { ...all.contexts, [name]: context } };
  });
};

const addLogout = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'logout [context]',
    shared: 'output',
    summary: 'End the sign-in of a context',
    description:
      'Delete the tokens of a sign-in from the context, and end it at the identity provider. A token of it that was sent before stays good until it ends, in minutes.',
    examples: [['fairlead logout', 'End the sign-in of the current context']],
  }).action(
    runs(io, async (session, given: string | undefined) => {
      const name = given ?? chosenContext({}, session.io)?.name;
      if (name === undefined) throw usageFailure('No context is chosen', 'Name the context whose sign-in ends.');
      const { signedIn } = await changeContext(session.io, name, async (context) => context);
      if (signedIn === undefined) {
        const table = `The context ${name} is not signed in.`;
        return { data: { context: name, ended: false }, table, names: [name] };
      }
      await changeContext(session.io, name, async ({ signedIn: _, ...context }) => context);
      const isRevoked = await revoked(signedIn).catch((error: unknown) => {
        throw new CliFailure('unreachable', {
          code: 'cli.sign-out-partial',
          message: `The tokens are deleted here, but the sign-in was not ended at ${signedIn.issuer}: ${wordsOf(error)}`,
          help: 'End it there, in the account of the user, if others may have the tokens.',
          cause: error,
        });
      });
      const there = isRevoked ? '' : ' The identity provider does not end it: it ends there by itself.';
      return {
        data: { context: name, ended: true },
        table: `Signed out of the context ${name}.${there}`,
        names: [name],
      };
    }),
  );
};
