import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import type { ClusterAt, NodeSelection, NodeView } from '../api/views.js';
import type { Session } from '../command/session.js';
import { unknownPool } from '../pool/pool.commands.js';
import { collected } from '../command/parsers.js';
import { CliFailure, usageFailure } from '../failures.js';

/** Selects the nodes of a command. */
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
  return { nodes: nodes.length === 0 ? undefined : nodes, pools: pool, labels: selector, all };
};

const pairsOf = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

/** The same selection as query parameters of a list. */
export const queryOf = ({ pool, selector }: SelectionOptions) => ({
  pool: pool?.join(','),
  labelSelector: selector === undefined ? undefined : pairsOf(selector),
});

/** The same selection, of nodes as they were at an earlier moment. */
export const isSelected = (
  node: Pick<NodeView, 'pool' | 'labels'>,
  { pool = [node.pool], selector = {} }: SelectionOptions,
): boolean => {
  const labels: Readonly<Record<string, string>> = node.labels;
  return pool.includes(node.pool) && Object.entries(selector).every(([key, value]) => labels[key] === value);
};

/** The message for an empty selection. */
export const noneSelected = (cluster: string, { pool = [], selector = {} }: SelectionOptions): string => {
  const pools = pool.length === 0 ? [] : [`is in the pool${pool.length === 1 ? '' : 's'} ${pool.join(', ')}`];
  const labels = pairsOf(selector) === '' ? [] : [`has ${pairsOf(selector)}`];
  return `No node of ${cluster} ${[...pools, ...labels].join(' and ')}. "fairlead node describe" shows the labels of a node.`;
};

/** Sends the request. If it selects no nodes because a pool does not exist, reports that instead. */
export const unlessPoolUnknown = async <T>(
  session: Session,
  at: ClusterAt,
  pools: readonly string[] | undefined,
  request: Promise<T>,
): Promise<T> => {
  try {
    return await request;
  } catch (error) {
    if (error instanceof CliFailure && error.code === 'node.none-selected')
      await refuseUnknownPools(session, at, pools);
    throw error;
  }
};

/** A misspelled pool is an error, not an empty selection. */
export const refuseUnknownPools = async (
  { api }: Session,
  at: ClusterAt,
  pools: readonly string[] | undefined,
): Promise<void> => {
  if (pools === undefined) return;
  const known = [
    CONTROL_PLANE_POOL,
    ...(await api.get('/ns/{namespace}/clusters/{cluster}/manifest', at)).spec.pools.map(({ name }) => name),
  ];
  const unknown = pools.find((pool) => !known.includes(pool));
  if (unknown !== undefined) throw unknownPool(at, unknown, known);
};

/** The selection as text, for the confirmation. */
export const selectionWords = (
  cluster: string,
  nodes: readonly string[],
  { pool = [], selector = {}, all }: SelectionOptions,
): string => {
  if (nodes.length > 0) return `${nodes.join(', ')} of ${cluster}`;
  const labels = pairsOf(selector);
  const which = [...(pool.length === 0 ? [] : [`in ${pool.join(', ')}`]), ...(labels === '' ? [] : [`with ${labels}`])];
  return all === true || which.length === 0 ? `all nodes of ${cluster}` : `the nodes ${which.join(' ')} of ${cluster}`;
};
