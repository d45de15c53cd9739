import { InvalidArgumentError, Option } from 'commander';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

/** More do not make a store safer, only slower: an even number survives no more lost servers than one less. */
const COUNTS: readonly number[] = [1, 3, 5];
const RULE = 'It must be 1, 3 or 5.';
const VARIABLE = 'FAIRLEAD_REPLICAS';

const countIn = (text: string): number | undefined => COUNTS.find((count) => String(count) === text);

const replicaCount = (text: string): number => {
  const count = countIn(text);
  if (count === undefined) throw new InvalidArgumentError(RULE);
  return count;
};

export const replicasOption = (): Option =>
  new Option(
    '--replicas <count>',
    `on how many servers of a NATS cluster each stream, bucket and object store is kept: 1, 3 or 5 (${VARIABLE}; default: as many as before, at first 1); replicas are raised, and never lowered`,
  ).argParser(replicaCount);

/** undefined: neither the command nor the environment says how many. */
export const replicasOf = (given: number | undefined, { env }: Pick<Io, 'env'>): number | undefined => {
  const text = env[VARIABLE] ?? '';
  if (given !== undefined || text === '') return given;
  const count = countIn(text);
  if (count === undefined) throw usageFailure(`${VARIABLE} is '${text}'. ${RULE}`);
  return count;
};
