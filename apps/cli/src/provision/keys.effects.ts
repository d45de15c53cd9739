import { join } from 'node:path';
import {
  ensureCredentials,
  ensureSuperuserPassword,
  natsConfig,
  openDataFolder,
  readIfAny,
  writeWhole,
} from '@fairlead/embedded';
import { ensureKeys } from '../up/keys.store.js';
import type { KeysSettings } from './provision.settings.js';

/** Makes what is missing and keeps the rest. Answers with a sentence on where things are. Throws an `EnvironmentFault`. */
export const provideKeys = ({ dataDir, natsHost, natsPort, monitorPort, storeDir }: KeysSettings): string => {
  const folder = openDataFolder(dataDir);
  try {
    ensureKeys(dataDir);
    ensureSuperuserPassword(dataDir);
    const config = natsConfig({
      host: natsHost,
      port: natsPort,
      monitorPort,
      storeDir,
      auth: ensureCredentials(dataDir),
    });
    const configFile = join(dataDir, 'nats.conf');
    if (readIfAny(configFile) !== config) writeWhole(configFile, config);
    return `The keys are in ${join(dataDir, 'keys')}, the NATS credentials in ${join(dataDir, 'creds')}; start NATS with ${configFile}.`;
  } finally {
    folder.release();
  }
};
