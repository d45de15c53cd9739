import {
  ClusterName,
  DEFAULT_KUBERNETES_VERSION,
  PROVIDER_TRAITS,
  PROVIDERS,
  type ProviderName,
} from '@fairlead/contracts';
import { InvalidArgumentError } from 'commander';
import { controlPlaneCount, integerBetween, kubernetesVersion } from '../command/parsers.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

const WORKERS_MAX = 500;
export const workerCount = integerBetween(0, WORKERS_MAX);
export const INIT_NETWORKS: readonly string[] = ['calico', 'flannel', 'cilium'];
/** An initial manifest has control planes, and hosts that join by themselves can only be workers. */
export const INIT_PROVIDERS = PROVIDERS.filter((provider) => !PROVIDER_TRAITS[provider].hostsJoin);

/** The values from arguments and options; the others are asked for, or have defaults. */
export interface InitGiven {
  readonly name?: string;
  readonly provider?: ProviderName;
  readonly connection?: string;
  readonly machineType?: string;
  readonly controlPlanes?: number;
  readonly workers?: number;
  readonly kubernetesVersion?: string;
  readonly cni?: string;
}

export type Answered = Required<InitGiven>;

/** How often a question is repeated after an invalid answer. */
const TRIES_MAX = 5;

const oneOf =
  <Choice extends string>(choices: readonly Choice[]) =>
  (text: string): Choice => {
    const found = choices.find((choice) => choice === text.toLowerCase());
    if (found === undefined) throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`);
    return found;
  };

const clusterName = (text: string): string => {
  const { success, error } = ClusterName.safeParse(text);
  if (!success) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'is not the name of a cluster'}.`);
  return text;
};

/** Not validated here: the connection defines the names. */
const word = (text: string): string => {
  if (/\s/.test(text)) throw new InvalidArgumentError('It must be one word.');
  return text;
};

type Ask = NonNullable<Io['ask']>;

/** The answer; Enter selects the default. Throws a `CliFailure` after too many invalid answers. */
const asked = async <T>(
  { ask, err }: { readonly ask: Ask; readonly err: Io['err'] },
  question: string,
  usual: T,
  parse: (text: string) => T,
): Promise<T> => {
  for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
    const text = (await ask(`${question} [${String(usual)}]: `)).trim();
    if (text === '') return usual;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      err(`  ${error.message}\n`);
    }
  }
  throw usageFailure(`${question} has no usable answer`, 'Give it as an option: "fairlead init --help".');
};

/** All values of the manifest: from options, otherwise asked for on a terminal, otherwise the defaults. */
export const answersFor = async (given: InitGiven, { ask, err }: Pick<Io, 'ask' | 'err'>): Promise<Answered> => {
  const answer = async <T>(
    known: T | undefined,
    question: string,
    usual: T,
    parse: (text: string) => T,
  ): Promise<T> => {
    if (known !== undefined) return known;
    return ask === undefined ? usual : asked({ ask, err }, question, usual, parse);
  };
  const name = await answer(given.name, 'Name of the cluster', 'demo', clusterName);
  const provider = await answer(
    given.provider,
    `Provider (${INIT_PROVIDERS.join(', ')})`,
    'lab',
    oneOf(INIT_PROVIDERS),
  );
  const usual = PROVIDER_TRAITS[provider].example;
  const connection = await answer(given.connection, 'Connection', usual.connection, word);
  const machineType = await answer(given.machineType, 'Machine type', usual.machineType, word);
  const workers = await answer(given.workers, 'Workers (0: a single node)', 2, workerCount);
  const controlPlanes =
    workers === 0
      ? (given.controlPlanes ?? 1)
      : await answer(given.controlPlanes, 'Control planes (1, 3 or 5)', 3, controlPlaneCount);
  const version = await answer(
    given.kubernetesVersion,
    'Kubernetes version',
    DEFAULT_KUBERNETES_VERSION,
    kubernetesVersion,
  );
  const cni = await answer(given.cni, `Pod network (${INIT_NETWORKS.join(', ')})`, 'flannel', oneOf(INIT_NETWORKS));
  return { name, provider, connection, machineType, workers, controlPlanes, kubernetesVersion: version, cni };
};
