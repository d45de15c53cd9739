import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { NodeSelection } from '../api/api.ports.js';
import { collected } from '../command/parsers.js';
import { usageFailure } from '../failures.js';

/** Which nodes a command is about. */
export interface SelectionOptions {
  readonly pool?: readonly string[];
  readonly selector?: Readonly<Record<string, string>>;
  readonly all?: true;
}

const labels = (
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> => {
  const pairs = text.split(',').map((pair): readonly [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw new InvalidArgumentError('Give labels like tier=web,zone=a.');
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  return { ...before, ...Object.fromEntries(pairs) };
};

export const addPoolAndSelector = (command: Command): Command =>
  command
    .option(
      '--pool <name>',
      'select the nodes of this pool (repeatable); control-plane selects the control planes',
      collected,
    )
    .option('-l, --selector <labels>', 'select nodes by label, e.g. tier=web', labels);

export const addSelectionOptions = (command: Command): Command =>
  addPoolAndSelector(command).option('--all', 'select all nodes of the cluster');

export const selectionOf = (nodes: readonly string[], { pool, selector, all }: SelectionOptions): NodeSelection => {
  const isShared = pool !== undefined || selector !== undefined || all === true;
  if (nodes.length === 0 && !isShared)
    throw usageFailure('no node is named', 'Name nodes, or give --pool, --selector or --all.');
  if (nodes.length > 0 && isShared)
    throw usageFailure('nodes are named, and others selected', 'Name nodes, or give --pool, --selector or --all.');
  return {
    ...(nodes.length === 0 ? {} : { nodes: [...nodes] }),
    ...(pool === undefined ? {} : { pools: [...pool] }),
    ...(selector === undefined ? {} : { labels: { ...selector } }),
    ...(all === true ? { all } : {}),
  };
};

/** The selection in words, for the question whether it is meant. */
export const selectionWords = (
  cluster: string,
  nodes: readonly string[],
  { pool = [], selector = {}, all }: SelectionOptions,
): string => {
  if (nodes.length > 0) return `${nodes.join(', ')} of ${cluster}`;
  const pairs = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  const which = [
    ...(pool.length === 0 ? [] : [`in ${pool.join(', ')}`]),
    ...(pairs.length === 0 ? [] : [`with ${pairs.join(',')}`]),
  ];
  return all === true || which.length === 0 ? `all nodes of ${cluster}` : `the nodes ${which.join(' ')} of ${cluster}`;
};
