/** Maximum lifetime of an agent's NATS credential. */
export const AGENT_CREDENTIAL_LIFETIME_MAX_S = 24 * 60 * 60;

/** Maximum number of users in one `AgentCredentialsRevoked`; larger revocations are split into several events. */
export const AGENT_CREDENTIALS_REVOKED_MAX = 4_000;

/**
 * Limits on connections to NATS. An agent has one connection, briefly a second one while it is replaced or checks its
 * credential; dead connections of a node may not be closed yet. A server takes 65,536: what `accountMax` leaves free is
 * for services.
 */
export const NODE_CONNECTIONS = { perUser: 4, accountMin: 4_096, accountMax: 60_000 } as const;
export const NATS_CONNECTIONS_MAX = 65_536;

/** The program that makes NATS reject the credentials of removed nodes. It writes no events and has no database. */
export const REVOKER = 'revoker';
