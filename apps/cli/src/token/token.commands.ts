import { InvalidArgumentError, type Command } from 'commander';
import type { TokenRequest } from '@fairlead/contracts';
import type { TokenView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import { duration } from '../command/parsers.js';
import type { Io } from '../io/io.js';
import { optional, prose } from '../output/table.js';

type Grant = TokenRequest['roles'][number];

export const addTokenCommands = (program: Command, io: Io): void => {
  const token = addGroup(program, 'token', 'Manage API tokens and their roles').alias('tokens');
  addCreate(token, io);
  addList(token, io);
  addRevoke(token, io);
};

const ROLES = Object.keys({ viewer: 1, operator: 1, admin: 1 } satisfies Record<Grant['role'], 1>);
const GRANT = new RegExp(`^(?:([^=]+)=)?(${ROLES.join('|')})$`);

/** A role as it was given; `namespace` undefined: that of the command. */
interface AskedRole {
  readonly namespace: string | undefined;
  readonly role: Grant['role'];
}

/** `operator`: in the namespace of the command; `team-a=operator`: in that one; `*=operator`: in all. */
const collectRole = (text: string, before: readonly AskedRole[] | undefined): readonly AskedRole[] => {
  const match = GRANT.exec(text);
  if (match === null)
    throw new InvalidArgumentError(
      `Give <role>, <namespace>=<role> or "*=<role>" for all namespaces; roles: ${ROLES.join(', ')}.`,
    );
  return [...(before ?? []), { namespace: match[1], role: match[2] as Grant['role'] }];
};

/** A namespace that no role is granted in would be taken for a bound. */
const grantsOf = (session: Session, roles: readonly AskedRole[]): Grant[] => {
  if (session.namespaceOption !== undefined && roles.every(({ namespace }) => namespace !== undefined))
    throw usageFailure(
      '--namespace has no effect: every --role names its own namespace',
      'Leave it out, or give a role without a namespace, such as --role viewer.',
    );
  return roles.map(({ namespace = session.namespace, role }) => ({ namespace, role }) as Grant);
};

interface CreateOptions {
  readonly role: readonly AskedRole[];
  /** In milliseconds. */
  readonly expiresIn?: number;
}

const addCreate = (token: Command, io: Io): void => {
  addCommand(token, {
    usage: 'create <name>',
    summary: 'Create an API token',
    description: 'Create an API token. It is printed once; the server stores only its hash.',
    examples: [
      [
        'fairlead token create ci --role team-a=operator --output name > ci.token',
        'Create a token for a pipeline that changes clusters of team-a',
      ],
      ['fairlead token create anna --role operator --namespace team-a', 'The same, with the namespace as an option'],
      ['fairlead token create dashboard --role "*=viewer"', 'Create a token with read access to all namespaces'],
      [
        'fairlead token create contractor --role team-a=viewer --expires-in 30d',
        'Create a token that expires after 30 days',
      ],
    ],
  })
    .requiredOption(
      '--role <[namespace=]role>',
      'role to grant: viewer, operator or admin; in the namespace before it, "*" for all, or that of --namespace (repeatable)',
      collectRole,
    )
    .option('--expires-in <duration>', 'lifetime of the token, e.g. 30d or 12h (default: unlimited)', duration)
    .action(
      runs(io, async (session, name: string, { role, expiresIn }: CreateOptions) => {
        const ending = expiresIn === undefined ? {} : { expiresAt: new Date(Date.now() + expiresIn).toISOString() };
        const { data: created } = await session.api.post(
          '/tokens',
          {},
          { body: { name, roles: grantsOf(session, role), ...ending } },
        );
        io.err(
          `Roles: ${rolesText(created)}. The token is shown this once; keep it where only its user can read it.\n`,
        );
        return { data: created, table: `${created.token}\n`, names: [created.token] };
      }),
    );
};

const rolesText = ({ roles }: TokenView): string =>
  roles.map(({ namespace, role }) => `${namespace}=${role}`).join(' ');

const expiryText = ({ expiresAt }: TokenView): string => {
  if (expiresAt === undefined) return 'never';
  return Date.parse(expiresAt) > Date.now() ? expiresAt : `${expiresAt} (ended)`;
};

const addList = (token: Command, io: Io): void => {
  addCommand(token, {
    usage: 'list',
    shared: 'installation',
    summary: 'List the API tokens, without their secrets',
    examples: [['fairlead token list', 'List the tokens with their roles']],
  })
    .alias('ls')
    .action(
      runs(io, async (session) => {
        const items = await session.api.list('/tokens');
        return {
          data: items,
          table: {
            columns: ['id', 'name', prose('roles'), optional('created', 1), 'expires'],
            rows: items.map((item) => [item.id, item.name, rolesText(item), item.createdTime, expiryText(item)]),
            empty: 'There are no API tokens.',
          },
          names: items.map(({ id }) => id),
        };
      }),
    );
};

const addRevoke = (token: Command, io: Io): void => {
  const command = addCommand(token, {
    usage: 'revoke <id>',
    shared: 'installation',
    summary: 'Revoke an API token',
    examples: [['fairlead token revoke e8b23e5b5dac9e91', 'Revoke it with immediate effect']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, id: string, options: ConfirmOptions) => {
      await confirm(io, { what: `The token ${id} will be revoked with immediate effect` }, options);
      await session.api.delete('/tokens/{token}', { token: id });
      return { data: { id, revoked: true }, table: `The token ${id} is revoked.`, names: [id] };
    }),
  );
};
