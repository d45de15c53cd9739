import { join } from 'node:path';
import {
  ensureCertificates,
  ensureCredentials,
  ensureSuperuserPassword,
  natsConfig,
  openDataFolder,
  readIfAny,
  writeWhole,
  type NatsCluster,
} from '@fairlead/embedded';
import { ensureKeys } from '../up/keys.store.js';
import { HOLDERS } from './holders.planner.js';
import { handOut } from './holders.store.js';
import type { KeysSettings } from './provision.settings.js';

/** By which programs on its own machine call it, health checks among them. */
const LOCAL_NAMES = ['localhost', '127.0.0.1'];

/** Makes what is missing and keeps the rest. Answers with a sentence on where things are. Throws an `EnvironmentFault`. */
export const provideKeys = async (settings: KeysSettings): Promise<string> => {
  const { dataDir, secretsDir, natsHost, natsPort, monitorHost, monitorPort, storeDir, natsNames, natsCluster } =
    settings;
  const isCluster = natsCluster.length > 0;
  const folder = openDataFolder(dataDir);
  try {
    ensureKeys(dataDir);
    ensureSuperuserPassword(dataDir);
    await ensureCertificates(dataDir, [...LOCAL_NAMES, ...natsNames, ...natsCluster], { isPeer: isCluster });
    const config = natsConfig({
      host: natsHost,
      port: natsPort,
      monitorHost,
      monitorPort,
      storeDir,
      certificateFile: join(secretsDir, 'nats', 'nats-server.pem'),
      ...(isCluster ? { cluster: clusterOf(settings) } : {}),
      auth: ensureCredentials(dataDir),
    });
    const configFile = join(dataDir, 'nats.conf');
    if (readIfAny(configFile) !== config) writeWhole(configFile, config);
    handOut(settings, HOLDERS);
    return `All keys and NATS credentials are in ${dataDir}, and what each of ${HOLDERS.join(', ')} needs is in its folder in ${secretsDir}; ${startText(settings)}.`;
  } finally {
    folder.release();
  }
};

const clusterOf = ({ secretsDir, natsCluster, natsClusterPort }: KeysSettings): NatsCluster => ({
  hosts: natsCluster,
  port: natsClusterPort,
  caFile: join(secretsDir, 'nats', 'nats-ca.pem'),
});

const startText = ({ secretsDir, natsCluster }: KeysSettings): string => {
  const config = join(secretsDir, 'nats', 'nats.conf');
  if (natsCluster.length === 0) return `start NATS with ${config}`;
  return `start NATS on each of ${natsCluster.join(', ')} with ${config} and a --name of its own`;
};
