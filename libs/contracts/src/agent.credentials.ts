/** No NATS credential of an agent lasts longer. */
export const AGENT_CREDENTIAL_LIFETIME_MAX_S = 24 * 60 * 60;

/** How many users one `AgentCredentialsRevoked` names; more are revoked by several events. */
export const AGENT_CREDENTIALS_REVOKED_MAX = 4_000;

/**
 * Connections to NATS. An agent has one, and a second one for a moment when it is replaced or checks its credential; others of a node may
 * be dead and not closed yet. A server takes 65,536: those that are left beyond `accountMax` are for services.
 */
export const NODE_CONNECTIONS = { perUser: 4, accountMin: 4_096, accountMax: 60_000 } as const;
export const NATS_CONNECTIONS_MAX = 65_536;

/** The program that makes NATS refuse the credentials of removed nodes. It states no facts and has no database. */
export const REVOKER = 'revoker';
