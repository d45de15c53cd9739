import { isRefusal, WorldFailure, type ConnectionName } from '@fairlead/contracts';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';

/** Rejects with WorldFailure when the connection cannot be opened. `retryable`: whether asking again can help. */
export const openConnection = async (
  connections: Pick<Connections, 'open'>,
  name: ConnectionName,
  { retryable }: { readonly retryable: boolean },
): Promise<OpenConnection> => {
  const open = await connections.open(name);
  if (!isRefusal(open)) return open;
  throw new WorldFailure({ operation: 'verify connection', target: name, message: open.message, retryable });
};
