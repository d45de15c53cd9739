import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Hosts that join by themselves. */
export const JOIN_REFUSALS = {
  'join.token-refused': definition(
    401,
    'The join token is not valid: it is unknown, expired, or used by another host',
    'Get a new one with: fairlead node join-command {cluster} --pool <pool>',
  ),
  'join.pool-makes-machines': definition(
    409,
    'Pool {pool} is on the connection {connection}, whose provider {provider} makes its machines',
    'Hosts join a pool on a connection of the provider join. Register one with: fairlead connection register <name> --provider join',
  ),
  'join.tokens-many': definition(
    429,
    'The cluster {cluster} has {max} join tokens that are not used yet',
    'Use them, or wait until they expire.',
  ),
  'join.host-unknown': definition(
    404,
    'No host {host} of the cluster {cluster} waits for a pool',
    'List those that wait with: fairlead host list {cluster}',
  ),
  'join.bootstrap-pending': definition(
    409,
    'The bootstrap data of pool {pool} do not exist yet',
    'They are generated when the pool is declared: try again in a few seconds.',
  ),
  'join.machine-unknown': definition(
    409,
    'The provider has not reported this machine as one of the pool yet',
    'Ask again: the machine may have booted before its provider said that it runs.',
  ),
  'join.not-served': definition(
    503,
    'This gateway has no agent to give to hosts',
    'Set AGENT_BUNDLE of the gateway to the agent that bootstrap-svc uses.',
  ),
  'join.machine-none': definition(
    422,
    'The connection {connection} makes no machines: {wanted} more cannot be created',
    'Run on each host what this prints: fairlead node join-command <cluster> --pool <pool>',
  ),
} as const satisfies Record<string, RefusalDefinition>;
