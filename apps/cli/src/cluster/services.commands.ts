import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import type { Io } from '../io/io.js';
import { optional, prose } from '../output/table.js';

export const addServices = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'services <cluster>',
    summary: 'List the published services of a cluster',
    description:
      'List the Services of a cluster that have the label fairlead.dev/publish=true: where browsers find them, whether a control plane is connected for them, and why one is not published.',
    examples: [
      ['fairlead cluster services demo', 'Show the address of each, and what it is called'],
      ['fairlead cluster services demo -o json', 'Print the same for a program, with icons and descriptions'],
    ],
  }).action(
    runs(io, async (session, name: string) => {
      const at = clusterAt(session, name);
      const items = (await session.api.get('/ns/{namespace}/clusters/{cluster}', at)).services ?? [];
      return {
        data: items,
        table: {
          columns: ['name', 'state', 'available', 'url', optional('label', 1), prose('message')],
          rows: items.map(({ key, state, available, url, label, message }) => [
            ...[key, state, available ? 'yes' : 'no', url === '' ? '-' : url, label, message],
          ]),
          empty: `No Service of ${name} asks to be published.`,
        },
        names: items.map(({ key }) => key),
      };
    }),
  );
};
