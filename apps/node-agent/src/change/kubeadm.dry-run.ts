import { ExternalFailure, type KubeadmDryRun } from '@fairlead/contracts';
import { commandLine } from '../software/item.js';
import { KUBELET_PATCH, KUBELET_PATCHES_FOLDER } from '../software/kubelet.settings.js';
import { upgradeArguments } from './change.phases.js';
import { packageVersion } from './kubelet.exchange.js';
import type { PhaseParts } from './phase.task.js';

/** kubeadm's output folder for the dry run. */
const FOLDER = '/var/lib/fairlead/kubeadm-dry-run';
const TIMEOUT_MS = 120_000;
/** The reasons are at the end; a long list of checks is shorter than this. */
const WORDS_LENGTH_MAX = 8_000;
const NOT_STARTED = 127;

/** The result of a dry run of a kubeadm upgrade. */
export interface DryRunEnd {
  readonly command: string;
  /** The end of its standard error; null: it has no objections. */
  readonly refusal: string | null;
}

const commandsOf = (
  { kubernetes, ignoredPreflightErrors }: KubeadmDryRun,
  { profile }: Pick<PhaseParts, 'profile'>,
  patches: string | null,
): readonly (readonly string[])[] => {
  const change = { kubeadm: 'apply' as const, kubernetes, ignoredPreflightErrors };
  const apply = upgradeArguments(change, profile, patches);
  const ignored = apply.filter((word) => word.startsWith('--ignore-preflight-errors='));
  return [
    ['upgrade', 'plan', kubernetes, ...ignored],
    [...apply, '--dry-run'],
  ];
};

/**
 * Checks with the target's kubeadm whether it would upgrade this cluster: first its plan, then a dry run of all phases.
 * It is placed next to the installed one. Throws ExternalFailure if it cannot be downloaded or does not finish.
 */
export const dryRunKubeadm = async (
  parts: Pick<PhaseParts, 'host' | 'software' | 'profile'>,
  dryRun: KubeadmDryRun,
): Promise<DryRunEnd> => {
  const { host, software } = parts;
  const program = await software.packages.program('kubeadm', packageVersion(dryRun.kubernetes));
  const patches = (await host.exists(KUBELET_PATCH)) ? KUBELET_PATCHES_FOLDER : null;
  let command = '';
  for (const args of commandsOf(dryRun, parts, patches)) {
    command = commandLine('kubeadm', args);
    const variables = [`KUBEADM_UPGRADE_DRYRUN_DIR=${FOLDER}`];
    const { code, stdout, stderr } = await host.run('env', [...variables, program, ...args], { timeoutMs: TIMEOUT_MS });
    const words = (stderr.trim() === '' ? stdout : stderr).trim().slice(-WORDS_LENGTH_MAX);
    if (code === null || code === NOT_STARTED) {
      const how = code === null ? `it did not end within ${TIMEOUT_MS / 1_000} s` : 'it could not be started';
      throw new ExternalFailure({ operation: command, target: 'host', message: `${how}: ${words}` });
    }
    if (code !== 0) return { command, refusal: words === '' ? `exit code ${code}` : words };
  }
  return { command, refusal: null };
};
