import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import type { Io } from '../io/io.js';
import { pageLink, type PageLink } from './page.link.effects.js';

export const addPageCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'page',
    shared: 'installation',
    summary: "Print a link to the operator's page that signs a browser on this machine in",
    description:
      "Print a link to the operator's page that signs a browser in, once, within 10 minutes, as the token of the command. It works on the machine of the gateway; elsewhere the page asks for a token.",
    examples: [['fairlead page', 'Print a link to open in a browser on this machine']],
  }).action(
    runs(io, async ({ api }) => {
      const link = await pageLink(api);
      return { data: link, table: linkText(link), names: [link.url] };
    }),
  );
};

const linkText = ({ url, expiresAt }: PageLink): string =>
  expiresAt === undefined
    ? `${url}\nThe server is on another machine: the page asks for a token.`
    : `${url}\nIt signs in once, until ${expiresAt}.`;
