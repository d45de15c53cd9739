import type { Command } from 'commander';
import type { WhoamiView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';

export const addWhoamiCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'whoami',
    shared: 'installation',
    summary: 'Show which server commands use, as whom, and with which roles',
    examples: [['fairlead whoami', 'Show the server, the name and roles of the token, and when it ends']],
  }).action(
    runs(io, async (session) => {
      const { server, context } = session.access;
      const who = await session.api.get('/whoami');
      return {
        data: { server, context: context ?? null, ...who },
        table: whoamiText({ server, context }, who, io.now()),
        names: [who.name],
      };
    }),
  );
};

const NAMESPACES = { '*': 'all namespaces' };

const rolesOf = ({ roles }: WhoamiView): readonly string[] =>
  roles.length === 0
    ? ['none: ask an administrator for a role']
    : roles.map(({ namespace, role }) => `${role} in ${namespace === '*' ? NAMESPACES[namespace] : namespace}`);

const endText = (expiresAt: string | undefined, nowMs: number): string =>
  expiresAt === undefined ? 'never' : `${expiresAt} (in ${formatDuration(Date.parse(expiresAt) - nowMs)})`;

const whoamiText = (
  { server, context }: { readonly server: string; readonly context?: string | undefined },
  who: WhoamiView,
  nowMs: number,
): string => {
  const [first = '', ...others] = rolesOf(who);
  return [
    `server   ${server}${context === undefined ? '' : ` (context ${context})`}`,
    `user     ${who.name} (token ${who.tokenId})`,
    `roles    ${first}`,
    ...others.map((role) => `         ${role}`),
    `expires  ${endText(who.expiresAt, nowMs)}`,
  ].join('\n');
};
