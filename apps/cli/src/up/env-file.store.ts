import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { writeWhole } from '@fairlead/embedded/process';
import { CHECKOUT } from '../checkout.js';
import type { ProgramPlan } from './programs.planner.js';
import type { DebuggableService } from './up.settings.js';

/** It holds the password of a database, so it lies with the keys, which backups of the data leave out. */
const envFileOf = (dataDir: string, service: DebuggableService): string => join(dataDir, 'keys', `${service}.env`);

/** For `node --env-file`, which takes a value literally between quotes that the value does not contain. */
export const envFileText = (env: Readonly<Record<string, string>>): string =>
  Object.entries(env)
    .map(([name, value]) => {
      const quote = ["'", '`', '"'].find((one) => !value.includes(one)) ?? '';
      return `${name}=${quote}${value}${quote}\n`;
    })
    .join('');

/** The environment of a service that its developer starts. Variables of the shell take precedence over the file. */
export const writeEnvFile = (dataDir: string, service: DebuggableService, { env }: ProgramPlan): void =>
  writeWhole(envFileOf(dataDir, service), envFileText({ ...env, LOG_FORMAT: 'pretty' }));

export const removeEnvFile = (dataDir: string, service: DebuggableService): void =>
  rmSync(envFileOf(dataDir, service), { force: true });

/** The command that starts the service under the inspector, from the checkout. */
export const debugCommand = (dataDir: string, service: DebuggableService): string => {
  const file = envFileOf(dataDir, service);
  const shown = file.startsWith(`${CHECKOUT}/`) ? relative(CHECKOUT, file) : file;
  return `node --inspect --enable-source-maps --env-file=${shown} apps/${service}/dist/main.js`;
};
