import { isRefusal, WorldFailure, type ConnectionName, type Refusal } from '@fairlead/contracts';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';

/** Rejects with WorldFailure when the connection cannot be opened. `retryable`: whether asking again can help. */
export const openConnection = async (
  connections: Pick<Connections, 'open'>,
  name: ConnectionName,
  { retryable }: { readonly retryable: boolean },
): Promise<OpenConnection> => {
  return orThrow(await connections.open(name), name, retryable);
};

/** As it was registered last; undefined: it is not offered any more. Rejects with WorldFailure when it cannot be opened. */
export const openLatestConnection = async (
  connections: Pick<Connections, 'openLatest'>,
  name: ConnectionName,
): Promise<OpenConnection | undefined> => {
  const open = await connections.openLatest(name);
  return open === undefined ? undefined : orThrow(open, name, false);
};

const orThrow = (open: OpenConnection | Refusal, name: ConnectionName, retryable: boolean): OpenConnection => {
  if (!isRefusal(open)) return open;
  throw new WorldFailure({ operation: 'verify connection', target: name, message: open.message, retryable });
};
