import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { REALM_PROVIDERS } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { RealmSettings, RealmView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { duration } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';
import { untilLooked } from './look.effects.js';

export const addRealmCommands = (program: Command, io: Io): void => {
  const realm = addGroup(program, 'realm', 'Manage identity realms that users of clusters sign in at').alias('realms');
  addList(realm, io);
  addDescribe(realm, io);
  addRegister(realm, io);
  addGetSecret(realm, io);
  addDelete(realm, io);
};

const STATES: Readonly<Record<RealmView['state'], string>> = {
  Unknown: 'not looked at yet',
  Ready: 'ready',
  NotReady: 'not ready',
};

const stateOf = ({ state, reason }: RealmView): string =>
  reason === '' ? STATES[state] : `${STATES[state]} (${reason})`;

const realmsAnswer = (items: readonly RealmView[]): CommandOutput => ({
  data: items,
  table: {
    columns: ['name', optional('provider', 1), 'issuer', 'clusters', prose('message')],
    rows: items.map((item) => [item.name, item.provider, item.issuerUrl, String(item.clusters.length), stateOf(item)]),
    empty: 'There are no realms.',
  },
  names: items.map(({ name }) => name),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the identity realms of a namespace',
    examples: [['fairlead realm list -n team-a', 'List the realms of team-a with their state']],
  })
    .alias('ls')
    .action(
      runs(io, async (session) =>
        realmsAnswer(await session.api.list('/ns/{namespace}/realms', { namespace: session.namespace })),
      ),
    );
};

const describeText = (item: RealmView): string => {
  const { namespace, name, provider, issuerUrl, clientId, ca, message, clusters, registeredTime } = item;
  const { create, usersGroup } = item;
  return [
    `Realm ${name} of namespace ${namespace}`,
    `  provider: ${provider}`,
    `  issuer: ${issuerUrl}`,
    `  managed by: client ${clientId}${create === true ? ' of the realm master' : ''}; its secret is sealed`,
    ...(create === true ? ['  created by Fairlead, with the groups /platform-users and /admins'] : []),
    ...(usersGroup === undefined ? [] : [`  users of every cluster: group ${usersGroup}`]),
    `  certificate: ${ca === undefined ? 'checked with the authorities of the hosts' : 'checked with authorities of its own'}`,
    `  registered: ${registeredTime}`,
    `  status: ${stateOf(item)}`,
    ...(message === '' ? [] : [`  problem: ${message}`]),
    ...(clusters.length === 0 ? ['  used by no cluster'] : ['Clusters', ...clusters.map((cluster) => `  ${cluster}`)]),
  ].join('\n');
};

const addDescribe = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <realm>',
    summary: 'Show an identity realm with its state and the clusters that use it',
    examples: [['fairlead realm describe company', 'Show why a realm is not ready']],
  }).action(
    runs(io, async (session, name: string) => {
      const item = await session.api.get('/ns/{namespace}/realms/{realm}', {
        namespace: session.namespace,
        realm: name,
      });
      return { data: item, table: describeText(item), names: [item.name] };
    }),
  );
};

interface RegisterOptions {
  readonly provider: RealmSettings['provider'];
  readonly issuer: string;
  readonly clientId: string;
  readonly secretFile?: string;
  readonly issuerCaFile?: string;
  readonly create?: true;
  readonly usersGroup?: string;
  readonly wait: boolean;
  readonly timeout: number;
}

const addRegister = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'register <realm>',
    summary: 'Register an identity realm or replace its settings',
    description:
      'Register a realm of an identity provider for the clusters of a namespace, or replace its settings, and wait until it is known whether it is ready. Fairlead makes a client and a group for each cluster there, by a client with a service account, which needs the roles manage-clients, manage-users and query-groups of the realm. Its secret is sealed by the server, and only administrators of the namespace can read it back; left out, the one that there is stays. With --create, Fairlead creates the realm with the groups platform-users and admins, by a client of the realm master with the role create-realm.',
    examples: [
      [
        'fairlead realm register company --issuer https://id.example.org/realms/team --client-id fairlead --secret-file realm.secret',
        'Register a realm of Keycloak',
      ],
      [
        'fairlead realm register team --create --issuer https://id.example.org/realms/team --client-id fairlead --secret-file keycloak.secret',
        'Create a realm of Keycloak for the namespace',
      ],
    ],
  })
    .addOption(
      new Option('--provider <kind>', 'the kind of identity provider').choices(REALM_PROVIDERS).default('keycloak'),
    )
    .requiredOption('--issuer <url>', 'the issuer, as its discovery document names it')
    .requiredOption('--client-id <id>', 'the client by which Fairlead manages clients and groups')
    .option('--secret-file <file>', 'file with the secret of that client; - reads standard input')
    .option('--issuer-ca-file <file>', "file with the authorities of the issuer's certificate, PEM")
    .option('--create', 'create the realm, by a client of the realm master that may')
    .option('--users-group <path>', 'the group whose members use every cluster; with --create /platform-users')
    .option('--wait', 'wait until it is known whether the realm is ready (default)', true)
    .option('--no-wait', 'exit when the request is accepted')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait, e.g. 2m').argParser(duration).default(60_000, '60s'),
    )
    .action(
      runs(io, async (session, name: string, options: RegisterOptions) => {
        const { provider, issuer: issuerUrl, clientId, secretFile, issuerCaFile, create, usersGroup } = options;
        const clientSecret = secretFile === undefined ? undefined : await read(secretFile, io, 'secret');
        const ca = issuerCaFile === undefined ? undefined : await read(issuerCaFile, io, 'certificate');
        const { data: registered } = await session.api.put(
          '/ns/{namespace}/realms/{realm}',
          { namespace: session.namespace, realm: name },
          {
            body: {
              provider,
              issuerUrl,
              clientId,
              ...(ca === undefined ? {} : { ca: `${ca}\n` }),
              clientSecret,
              ...(create === true ? { create } : {}),
              ...(usersGroup === undefined ? {} : { usersGroup }),
            },
          },
        );
        const item = options.wait ? await looked(session, registered, options) : registered;
        return { ...realmsAnswer([item]), data: item };
      }),
    );
};

const looked = (session: Session, registered: RealmView, { timeout }: RegisterOptions): Promise<RealmView> =>
  untilLooked(session.api, { registered, timeoutMs: timeout, interrupted: session.io.interrupts.first });

const read = async (file: string, io: Io, what: string): Promise<string> => {
  if (file === '-') return (await io.readStdin()).trim();
  try {
    return (await readFile(resolve(io.cwd, file), 'utf8')).trim();
  } catch (error) {
    throw usageFailure(`The ${what} cannot be read: ${wordsOf(error)}`);
  }
};

const addGetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get-secret <realm>',
    summary: 'Print the secret of the client that administers a realm',
    description:
      'Print the secret of the client with which Fairlead administers an identity realm. It needs the role admin in the namespace, and the history records who read it.',
    examples: [['fairlead realm get-secret company > client.secret', 'Write the secret to a file']],
  }).action(
    runs(io, async (session, name: string) => {
      const at = { namespace: session.namespace, realm: name };
      const { clientId, clientSecret } = await session.api.get('/ns/{namespace}/realms/{realm}/credential', at);
      return { data: { name, clientId, clientSecret }, table: clientSecret, names: [name] };
    }),
  );
};

interface DeleteOptions extends ConfirmOptions {
  readonly force?: boolean;
}

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <realm>',
    summary: 'Delete an identity realm that no cluster uses',
    description:
      'Delete an identity realm from Fairlead, with its sealed secret. The identity provider is not changed.',
    examples: [
      ['fairlead realm delete company', 'Delete a realm that no cluster uses'],
      ['fairlead realm delete company --force', 'Delete a realm whose identity provider is gone for good'],
    ],
  });
  addConfirmOption(command)
    .option('--force', 'also while clusters use it: their clients and groups stay at the identity provider')
    .action(
      runs(io, async (session, name: string, { force = false, ...options }: DeleteOptions) => {
        const kept = force ? ', and the clients and groups of its clusters stay at the identity provider' : '';
        await confirm(io, { what: `The realm ${name} will be deleted with its sealed secret${kept}` }, options);
        await session.api.delete(
          '/ns/{namespace}/realms/{realm}',
          { namespace: session.namespace, realm: name },
          { query: { force: force ? 'true' : undefined } },
        );
        return { data: { name, deleted: true }, table: `The realm ${name} is deleted.`, names: [name] };
      }),
    );
};
