import type { Command } from 'commander';
import { valuesIn } from '../addon/values.file.js';
import type { Manifest, ManifestView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { collected } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { exported } from '../document/manifest.document.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { changeManifest, type ChangeOptions } from '../manifest/change.effects.js';
import { addChangeOptions } from '../manifest/change.options.js';

interface InstallOptions extends ChangeOptions {
  readonly chartVersion?: string;
  readonly name?: string;
  readonly into?: string;
  readonly valuesFile?: string;
  readonly valuesFrom?: readonly string[];
}

export const addInstall = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'install <application> <cluster>',
    summary: 'Install an application of the catalogue in a cluster, or another version of it',
    description:
      'Declare an add-on in the manifest of the cluster, show the plan, ask for confirmation and apply it. Of an add-on that is declared already, only what the options name changes. To uninstall it, remove it from the manifest with "fairlead edit".',
    examples: [
      ['fairlead application install metrics-server demo', 'Install the newest version of the catalogue'],
      [
        'fairlead application install grafana demo --into monitoring --values-file grafana.yaml --values-from grafana-admin',
        'Install it with values, of which some are sealed',
      ],
    ],
  })
    .option('--chart-version <version>', 'a version of the catalogue (default: the newest)')
    .option('--name <addon>', 'name of the add-on (default: that of the application)')
    .option('--into <namespace>', 'namespace in the cluster (default: default)')
    .option('--values-file <file>', 'YAML or JSON file with values of the chart; - reads standard input')
    .option('--values-from <secret>', 'add-on secret with sealed values (repeatable)', collected);
  addChangeOptions(command).action(
    runs(io, async (session, application: string, cluster: string, options: InstallOptions) => {
      const at = clusterAt(session, cluster);
      const current = await session.api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
      const addon = await addonOf(session, application, current, options);
      return changeManifest(session, at, withAddon(current, addon), options);
    }),
  );
};

interface NamedValues {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** Keeps the fields that are already declared, except for those that the options set. */
const addonOf = async (
  session: Session,
  application: string,
  { spec }: ManifestView,
  { chartVersion, name = application, into, valuesFile, valuesFrom }: InstallOptions,
): Promise<NamedValues> => {
  const before = spec.addons?.find((one) => one.name === name);
  if (before !== undefined && before.application !== application)
    throw usageFailure(`The cluster has another add-on ${name}`, 'Choose another name with --name.');
  return {
    ...before,
    ...{ name, application, version: chartVersion ?? (await newestOf(session, application)) },
    ...(into === undefined ? {} : { namespace: into }),
    ...(valuesFile === undefined ? {} : { values: await valuesIn(valuesFile, session.io) }),
    ...(valuesFrom === undefined ? {} : { valuesFrom: valuesFrom.map((secretName) => ({ secretName })) }),
  };
};

const newestOf = async ({ api }: Session, name: string): Promise<string> => {
  const { versions, message } = await api.get('/applications/{application}', { application: name });
  const [newest] = versions;
  if (newest !== undefined) return newest.version;
  throw usageFailure(
    `The catalogue has no version of ${name}${message === '' ? '' : `: ${message}`}`,
    `Look with "fairlead application get ${name}".`,
  );
};

const withAddon = (current: ManifestView, addon: NamedValues): Manifest => {
  const { spec, metadata, ...others } = exported(current);
  const addons: readonly NamedValues[] = current.spec.addons ?? [];
  const isKnown = addons.some(({ name }) => name === addon.name);
  const changed = isKnown ? addons.map((one) => (one.name === addon.name ? addon : one)) : [...addons, addon];
  const { resourceVersion } = current.metadata;
  return { ...others, metadata: { ...metadata, resourceVersion }, spec: { ...(spec as object), addons: changed } };
};
