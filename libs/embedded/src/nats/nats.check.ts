import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { EnvironmentFault } from '../faults.js';
import { isNewEnough, NATS_API_LEVEL_MIN, NATS_VERSION_MIN } from './nats.version.js';

/**
 * Rejects a server that would silently ignore required features: older than 2.12, or a JetStream API level below 2 (as
 * in a 2.12 server within an older cluster). Needs permission for `$JS.API.INFO`.
 */
export const checkServer = async (connection: NatsConnection): Promise<void> => {
  const { version = '0.0.0', server_name: name = 'NATS' } = connection.info ?? {};
  if (!isNewEnough(version)) throw tooOld(connection, `NATS server ${name} is ${version}`);
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const { api } = await manager.getAccountInfo();
  const level = api.level ?? 0;
  if (level < NATS_API_LEVEL_MIN)
    throw tooOld(connection, `NATS server ${name} (${version}) has JetStream API level ${level}`);
};

const tooOld = (connection: NatsConnection, finding: string): EnvironmentFault =>
  new EnvironmentFault('nats-too-old', {
    operation: 'check the NATS server',
    target: connection.getServer(),
    message: `${finding}; Fairlead needs ${NATS_VERSION_MIN} or newer with API level ${NATS_API_LEVEL_MIN}. Upgrade it, or unset NATS_URL to let Fairlead run its own.`,
  });
