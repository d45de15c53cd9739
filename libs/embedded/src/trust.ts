/** Ways to servers that are not protected by being on one machine. Nothing here loads a client of NATS or PostgreSQL. */
export {
  databaseTrustOf,
  databaseUrlOver,
  isLoopback,
  type DatabaseTrust,
  type TrustedUrl,
} from './credentials/database.trust.js';
export { natsServers } from './credentials/trust.js';
