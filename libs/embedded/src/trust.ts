/** Connections to servers on other machines. Nothing here loads a client of NATS or PostgreSQL. */
export {
  databaseTrustOf,
  databaseUrlOver,
  isLoopback,
  type DatabaseTrust,
  type TrustedUrl,
} from './credentials/database.trust.js';
export { natsServers } from './credentials/trust.js';
