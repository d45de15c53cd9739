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
/** A manifest to start from has control planes, and hosts that join by themselves become workers only. */
export const INIT_PROVIDERS = PROVIDERS.filter((provider) => !PROVIDER_TRAITS[provider].hostsJoin);

/** What the arguments and options say; the rest is asked for, or is as usual. */
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

/** How often a question is asked that has no usable answer. */
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

/** As it is: the connection decides what it is called. */
const word = (text: string): string => {
  if (/\s/.test(text)) throw new InvalidArgumentError('It must be one word.');
  return text;
};

type Ask = NonNullable<Io['ask']>;

/** The answer; Enter means the usual one. Throws a `CliFailure` after too many answers that are none. */
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

/** Everything that the manifest needs: as given, else asked for where there is a terminal, else as usual. */
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
      : await answer(given.controlPlanes, 'Control planes (1, 3, 5 or 7)', 3, controlPlaneCount);
  const version = await answer(
    given.kubernetesVersion,
    'Kubernetes version',
    DEFAULT_KUBERNETES_VERSION,
    kubernetesVersion,
  );
  const cni = await answer(given.cni, `Pod network (${INIT_NETWORKS.join(', ')})`, 'flannel', oneOf(INIT_NETWORKS));
  return { name, provider, connection, machineType, workers, controlPlanes, kubernetesVersion: version, cni };
};
