import type { Command } from 'commander';
import type { ClusterView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { optional, prose } from '../output/table.js';
import { addAddonSecretCommands } from './addon.secrets.commands.js';

type AddonView = NonNullable<ClusterView['addons']>[number];

export const addAddonCommands = (program: Command, io: Io): void => {
  const addon = addGroup(
    program,
    'addon',
    'Show what is installed in a cluster, and manage sealed values of add-ons',
  ).alias('addons');
  addList(addon, io);
  addGet(addon, io);
  addAddonSecretCommands(addon, io);
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <cluster>',
    summary: 'List the add-ons of a cluster',
    description:
      'List what every cluster has (network, kube-proxy, CoreDNS) and the add-ons of its manifest, in the order in which they are installed.',
    examples: [['fairlead addon list demo', 'Show the phase, version and revision of each']],
  })
    .alias('ls')
    .action(
      runs(io, async (session, name: string) => {
        const items =
          (await session.api.get('/ns/{namespace}/clusters/{cluster}', clusterAt(session, name))).addons ?? [];
        return {
          data: items,
          table: {
            columns: ['name', 'phase', 'version', optional('revision', 2), optional('since', 1), prose('message')],
            rows: items.map((item) => [
              ...[item.name, item.phase, item.version === '' ? '-' : item.version],
              ...[String(item.revision), item.since, item.message],
            ]),
            empty: `Nothing is known of the add-ons of ${name}.`,
          },
          names: items.map((item) => item.name),
        };
      }),
    );
};

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <cluster> <addon>',
    summary: 'Show an add-on: its phase, what is deployed, and what is declared',
    examples: [
      ['fairlead addon get demo metrics', 'Show why it has failed, or what was changed outside Fairlead'],
      ['fairlead addon get demo metrics -o json', 'Print the same for a program'],
    ],
  })
    .alias('show')
    .action(
      runs(io, async (session, cluster: string, name: string) => {
        const at = clusterAt(session, cluster);
        const item = ((await session.api.get('/ns/{namespace}/clusters/{cluster}', at)).addons ?? []).find(
          (one) => one.name === name,
        );
        if (item === undefined) throw unknownAddon(cluster, name);
        const manifest = await session.api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
        const declared = manifest.spec.addons?.find((one) => one.name === name);
        const data = { ...item, ...(declared === undefined ? {} : { declared }) };
        return { data, table: textOf(item, declared), names: [name] };
      }),
    );
};

const unknownAddon = (cluster: string, name: string): CliFailure =>
  new CliFailure('not-found', {
    code: 'addon.unknown',
    message: `The cluster ${cluster} has no add-on ${name}`,
    help: `List them with "fairlead addon list ${cluster}".`,
  });

const textOf = ({ name, phase, since, version, revision, message }: AddonView, declared: object | undefined): string =>
  [
    `Add-on ${name}`,
    `  phase: ${phase} since ${since}`,
    ...(version === '' ? [] : [`  deployed: ${version} (revision ${revision})`]),
    ...(message === '' ? [] : [`  message: ${message}`]),
    ...(declared === undefined ? ['  installed by Fairlead in every cluster'] : declaredText(declared)),
  ].join('\n');

/** One line per field; values and objects as in the manifest. */
const declaredText = (declared: object): readonly string[] =>
  Object.entries(declared)
    .filter(([field, value]) => field !== 'name' && value !== undefined)
    .map(([field, value]) => `  ${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
