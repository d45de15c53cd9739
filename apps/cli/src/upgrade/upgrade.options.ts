import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { ClusterAt, UpgradeFields } from '../api/api.ports.js';
import { collected, duration, kubernetesVersion } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure, wordsOf } from '../failures.js';
import { assignments, parseStrategy, share, upgradeFields, type UpgradeFlags } from './upgrade.request.js';

export type RequestOptions = UpgradeFlags & { readonly strategy?: string };

/** The options that say what must change, and how. */
export const addRequestOptions = (command: Command): Command =>
  command
    .option('--to <version>', 'Kubernetes version to go to', kubernetesVersion)
    .option(
      '--software <name=version>',
      'another package to change, e.g. containerd=1.7.24; may be given several times',
      assignments('name=version'),
    )
    .option('--certificates', 'renew the certificates of the control planes')
    .option('--reboot', 'boot every node that takes part, once')
    .option('--pool <name>', 'only this worker pool; may be given several times', collected)
    .option('--no-workers', 'control planes only')
    .option('--no-control-plane', 'workers only')
    .option('--max-unavailable <count>', 'workers of a pool that may be away at a time: a number or a share', share)
    .option('--max-surge <count>', 'extra workers of a pool meanwhile: a number or a share', share)
    .option('--no-canary', 'do not change one node of each pool first')
    .option('--soak <duration>', 'rest after the canary and after each batch', duration)
    .option('--drain-timeout <duration>', 'how long a node may take to be emptied', duration)
    .addOption(new Option('--on-drain-timeout <policy>', 'what then happens').choices(['stop', 'quarantine', 'force']))
    .option('--force-until <time>', 'with force: no pod is forced away after this moment (RFC 3339)')
    .option('--strategy <file>', 'strategy in YAML or JSON: pools, gates, probes, windows; options stand over it')
    .option(
      '--override <rule=reason>',
      'override a safety rule, e.g. "B4=saved by hand"; may be given several times',
      assignments('rule=reason'),
    );

export const fieldsOf = async (session: Session, options: RequestOptions): Promise<UpgradeFields> => {
  const { strategy: file } = options;
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
  command.option('--upgrade <id>', 'which upgrade (default: the latest that is not a dry run)');

/** The upgrade that is meant. */
export const upgradeMeant = async ({ api }: Session, at: ClusterAt, { upgrade }: WhichUpgrade): Promise<string> => {
  if (upgrade !== undefined) return upgrade;
  const latest = (await api.upgrades(at)).find(({ mode }) => mode !== 'dry-run');
  if (latest !== undefined) return latest.id;
  throw new CliFailure('not-found', {
    code: 'cli.no-upgrade',
    message: `${at.cluster} has no upgrade`,
    help: `Begin one with "fairlead upgrade start ${at.cluster} --to <version>".`,
  });
};
