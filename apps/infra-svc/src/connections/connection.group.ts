import type { ConnectionName } from '@fairlead/contracts';

const PREFIX = 'connection ';

/** The concurrency group of tasks that call the provider of a connection. */
export const connectionGroup = (connection: ConnectionName): string => `${PREFIX}${connection}`;

/** Returns undefined if it is not the group of a connection. */
export const connectionOfGroup = (group: string): ConnectionName | undefined =>
  group.startsWith(PREFIX) ? (group.slice(PREFIX.length) as ConnectionName) : undefined;
