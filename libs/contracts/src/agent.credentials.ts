/** No NATS credential of an agent lasts longer. */
export const AGENT_CREDENTIAL_LIFETIME_MAX_S = 24 * 60 * 60;

/** How many users one `AgentCredentialsRevoked` names; more are revoked by several events. */
export const AGENT_CREDENTIALS_REVOKED_MAX = 4_000;

/** The program that makes NATS refuse the credentials of removed nodes. It states no facts and has no database. */
export const REVOKER = 'revoker';
