import { join } from 'node:path';
import {
  ensureCertificates,
  ensureCredentials,
  ensureSuperuserPassword,
  natsConfig,
  openDataFolder,
  readIfAny,
  writeWhole,
} from '@fairlead/embedded';
import { ensureKeys } from '../up/keys.store.js';
import { HOLDERS } from './holders.planner.js';
import { handOut } from './holders.store.js';
import type { KeysSettings } from './provision.settings.js';

/** By which programs on its own machine call it, health checks among them. */
const LOCAL_NAMES = ['localhost', '127.0.0.1'];

/** Makes what is missing and keeps the rest. Answers with a sentence on where things are. Throws an `EnvironmentFault`. */
export const provideKeys = async (settings: KeysSettings): Promise<string> => {
  const { dataDir, secretsDir, natsHost, natsPort, monitorHost, monitorPort, storeDir, natsNames } = settings;
  const folder = openDataFolder(dataDir);
  try {
    ensureKeys(dataDir);
    ensureSuperuserPassword(dataDir);
    await ensureCertificates(dataDir, [...LOCAL_NAMES, ...natsNames]);
    const config = natsConfig({
      host: natsHost,
      port: natsPort,
      monitorHost,
      monitorPort,
      storeDir,
      certificateFile: join(secretsDir, 'nats', 'nats-server.pem'),
      auth: ensureCredentials(dataDir),
    });
    const configFile = join(dataDir, 'nats.conf');
    if (readIfAny(configFile) !== config) writeWhole(configFile, config);
    handOut(settings, HOLDERS);
    return `All keys and NATS credentials are in ${dataDir}, and what each of ${HOLDERS.join(', ')} needs is in its folder in ${secretsDir}; start NATS with ${join(secretsDir, 'nats', 'nats.conf')}.`;
  } finally {
    folder.release();
  }
};
