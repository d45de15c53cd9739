import type { ConnectionName } from '@fairlead/contracts';

/** What every task occupies that calls the provider of a connection. */
export const laneOf = (connection: ConnectionName): string => `connection ${connection}`;
