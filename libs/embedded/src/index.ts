export { EnvironmentFault, type FaultCode } from './faults.js';
export {
  startEnvironment,
  type Environment,
  type NatsAccess,
  type StartEnvironmentOptions,
} from './environment/environment.js';
export { untilNatsAnswers, untilPostgresAnswers } from './environment/answering.js';
export {
  ensureCredentials,
  mintReloader,
  rotateCredentials,
  type CredentialName,
  type NatsCredentials,
} from './credentials/operator.store.js';
export { type Authorities } from './credentials/authorities.js';
export {
  ensureCertificates,
  natsTrustIn,
  newAuthority,
  readAuthorities,
  serverNames,
  writeAuthorities,
  type NatsCertificates,
} from './credentials/authority.store.js';
export { cacheFolder } from './folder/cache-folder.js';
export { openDataFolder, portsOf, prepareDataFolder, type DataFolder } from './folder/data-folder.js';
export { makeFolder, readIfAny, writeDurably, writeWhole } from './folder/files.js';
export { takeLock, type LockResult } from './folder/lock.js';
export { checkServer } from './nats/nats.check.js';
export { natsConfig, type NatsCluster } from './nats/nats.config.js';
export { resolveNatsServer, type NatsServerBinary } from './nats/nats.resolver.js';
export { NATS_MEMORY, NATS_PROCESS, startNats, type RunningNats, type StartNatsOptions } from './nats/nats.server.js';
export { databaseNameOf, ensureServiceDatabases } from './postgres/databases.js';
export { ensureServicePasswords, ensureSuperuserPassword, superuserPasswordFile } from './postgres/passwords.store.js';
export { resolvePostgres, type PostgresBinaries } from './postgres/postgres.resolver.js';
export { startPostgres, type RunningPostgres, type StartPostgresOptions } from './postgres/postgres.server.js';
export { identityOf, isAlive, type ProcessIdentity } from './process/identity.js';
export { freePorts, isPortFree, LOOPBACK } from './process/ports.js';
export type { ProcessSpec } from './supervisor/child.js';
export type { ReplicaState } from './supervisor/replica.js';
export { RESTART_POLICY, type RestartPolicy } from './supervisor/restart.planner.js';
export { Supervisor, type ProcessStatus, type SupervisedSpec } from './supervisor/supervisor.js';
export * from './credentials.js';
