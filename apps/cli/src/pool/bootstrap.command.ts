import { BOOTSTRAP_FORMATS, type BootstrapFormat } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import type { Io } from '../io/io.js';

interface BootstrapOptions {
  readonly format: BootstrapFormat;
  readonly gatewayUrl?: string;
}

export const addBootstrapDataCommand = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'bootstrap-data <cluster> <pool>',
    summary: 'Print what hosts of a pool run at their first boot to join it',
    description:
      'Print a cloud-config, or a script, that makes a host join the pool by itself: give it to machines as their user data, or run it as root. It has a token that is valid for 15 minutes at most and admits any number of hosts until then, so it is a secret. The connection of the pool is one of the provider join.',
    examples: [
      ['fairlead pool bootstrap-data demo web > user-data', 'For machines that boot with cloud-init'],
      ['fairlead pool bootstrap-data demo web --format shell | ssh root@shed-1 sh', 'For a host that runs already'],
    ],
  })
    .addOption(
      new Option('--format <format>', 'of generated data; given data keep their own')
        .choices([...BOOTSTRAP_FORMATS])
        .default('cloud-config'),
    )
    .option('--gateway-url <url>', 'address at which the hosts reach the gateway (default: that of this command line)')
    .action(
      runs(io, async (session, cluster: string, pool: string, { format, gatewayUrl }: BootstrapOptions) => {
        const { server, authority: ca } = session.access;
        const authority = ca === undefined ? undefined : Buffer.from(ca).toString('base64');
        const view = await session.api.get(
          '/ns/{namespace}/clusters/{cluster}/pools/{pool}/bootstrap-data',
          { ...clusterAt(session, cluster), pool },
          { query: { format, server: gatewayUrl ?? server, authority } },
        );
        io.err(`Its token admits hosts to pool ${pool} of ${cluster} until ${view.expiresAt}.\n`);
        return { data: view, table: view.data.trimEnd(), names: [view.data.trimEnd()] };
      }),
    );
};
