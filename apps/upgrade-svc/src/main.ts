import { ConfigurationError, runService } from '@fairlead/service-kit';
import { readSettings, type Settings } from './config.js';
import { upgradeService } from './definition.js';

const settingsOrExit = (): Settings => {
  try {
    return readSettings(process.env);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`upgrade-svc: ${error.message}\n`);
    process.exit(2);
  }
};

void runService(upgradeService(settingsOrExit()));
