import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { ClusterAt, UpgradeFields } from '../api/views.js';
import { collected, duration, kubernetesVersion } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure, wordsOf } from '../failures.js';
import { assignments, parseStrategy, share, upgradeFields, type UpgradeFlags } from './upgrade.request.js';

export type RequestOptions = UpgradeFlags & { readonly strategy?: string };

/** The options that say what must change, and how. */
export const addRequestOptions = (command: Command): Command =>
  command
    .option('--to <version>', 'target Kubernetes version', kubernetesVersion)
    .option(
      '--software <name=version>',
      'package to change, e.g. containerd=1.7.24 (repeatable)',
      assignments('name=version'),
    )
    .option('--certificates', 'renew the certificates of the control planes')
    .option('--reboot', 'reboot every node in the upgrade once')
    .option('--pool <name>', 'upgrade only this worker pool (repeatable)', collected)
    .option('--no-workers', 'upgrade control planes only')
    .option('--no-control-plane', 'upgrade workers only')
    .option(
      '--max-unavailable <count>',
      'workers of a pool that may be unavailable at a time: a number or a percentage',
      share,
    )
    .option('--max-surge <count>', 'extra workers of a pool during the upgrade: a number or a percentage', share)
    .option('--no-canary', 'do not start with a single node of each pool')
    .option('--soak <duration>', 'how long to wait after the canary and after each batch', duration)
    .option('--drain-timeout <duration>', 'how long a drain may take', duration)
    .addOption(
      new Option('--on-drain-timeout <policy>', 'what to do after --drain-timeout').choices([
        'stop',
        'quarantine',
        'force',
      ]),
    )
    .option('--force-until <time>', 'with force: do not delete pods after this time (RFC 3339)')
    .option('--strategy <file>', 'strategy in YAML or JSON: pools, gates, probes, windows; options override it')
    .option(
      '--override <rule=reason>',
      'override a safety rule, e.g. "B4=backed up manually" (repeatable)',
      assignments('rule=reason'),
    );

export const fieldsOf = async (session: Session, options: RequestOptions): Promise<UpgradeFields> => {
  const { strategy: file, to, software, certificates, reboot } = options;
  if (to === undefined && software === undefined && certificates === undefined && reboot === undefined)
    throw usageFailure('Give at least one of --to, --software, --certificates and --reboot');
  if (file === undefined) return upgradeFields(options);
  try {
    const text = file === '-' ? await session.io.readStdin() : await readFile(resolve(session.io.cwd, file), 'utf8');
    return upgradeFields(options, parseStrategy(text, file));
  } catch (error) {
    throw error instanceof CliFailure ? error : usageFailure(`${file} cannot be read: ${wordsOf(error)}`);
  }
};

export interface WhichUpgrade {
  readonly upgrade?: string;
}

export const addWhichOption = (command: Command): Command =>
  command.option('--upgrade <id>', 'id of the upgrade (default: the latest that is not a dry run)');

/** The upgrade that is meant. */
export const upgradeMeant = async ({ api }: Session, at: ClusterAt, { upgrade }: WhichUpgrade): Promise<string> => {
  if (upgrade !== undefined) return upgrade;
  const latest = (await api.list('/ns/{namespace}/clusters/{cluster}/upgrades', at)).find(
    ({ mode }) => mode !== 'dry-run',
  );
  if (latest !== undefined) return latest.id;
  throw new CliFailure('not-found', {
    code: 'cli.no-upgrade',
    message: `${at.cluster} has no upgrade`,
    help: `Begin one with "fairlead upgrade start ${at.cluster} --to <version>".`,
  });
};
