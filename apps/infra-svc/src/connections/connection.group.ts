import type { ConnectionName } from '@fairlead/contracts';

const PREFIX = 'connection ';

/** The concurrency group of every task that calls the provider of a connection. */
export const connectionGroup = (connection: ConnectionName): string => `${PREFIX}${connection}`;

/** undefined: it is no group of a connection. */
export const connectionOfGroup = (group: string): ConnectionName | undefined =>
  group.startsWith(PREFIX) ? (group.slice(PREFIX.length) as ConnectionName) : undefined;
