import type { ConnectionName } from '@fairlead/contracts';

/** The concurrency group of every task that calls the provider of a connection. */
export const connectionGroup = (connection: ConnectionName): string => `connection ${connection}`;
