import { isRefusal, ExternalFailure, type ConnectionName, type Refusal } from '@fairlead/contracts';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';

/** Rejects with ExternalFailure if the connection cannot be opened. `retryable`: whether a retry can help. */
export const openConnection = async (
  connections: Pick<Connections, 'open'>,
  name: ConnectionName,
  { retryable }: { readonly retryable: boolean },
): Promise<OpenConnection> => {
  return orThrow(await connections.open(name), name, retryable);
};

/** Returns undefined if the connection is no longer offered. Rejects with ExternalFailure if it cannot be opened. */
export const openOfferedConnection = async (
  connections: Pick<Connections, 'openOffered'>,
  name: ConnectionName,
): Promise<OpenConnection | undefined> => {
  const open = await connections.openOffered(name);
  return open === undefined ? undefined : orThrow(open, name, false);
};

/**
 * Returns undefined if the connection was registered again in the meantime: results and failures of the former location
 * do not apply to the current one.
 */
export const whileCurrent = async <Found>(
  connections: Pick<Connections, 'isCurrent'>,
  { connection }: OpenConnection,
  work: () => Promise<Found>,
): Promise<Found | undefined> => {
  try {
    const found = await work();
    return (await connections.isCurrent(connection)) ? found : undefined;
  } catch (error) {
    if (await connections.isCurrent(connection)) throw error;
    return undefined;
  }
};

const orThrow = (open: OpenConnection | Refusal, name: ConnectionName, retryable: boolean): OpenConnection => {
  if (!isRefusal(open)) return open;
  throw new ExternalFailure({ operation: 'verify connection', target: name, message: open.message, retryable });
};
