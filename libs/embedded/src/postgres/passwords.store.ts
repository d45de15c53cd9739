import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@fairlead/contracts';
import { readIfAny, writeWhole } from '../folder/files.js';

const PASSWORD_BYTES = 24;

/** 32 characters of base64url: none that a URL would have to escape. */
const newPassword = (): string => randomBytes(PASSWORD_BYTES).toString('base64url');

export const superuserPasswordFile = (dataDir: string): string => join(dataDir, 'keys', 'postgres.password');

/** The password of PostgreSQL's superuser, created once. */
export const ensureSuperuserPassword = (dataDir: string): string => {
  const file = superuserPasswordFile(dataDir);
  const known = readIfAny(file);
  if (known !== undefined) return known.trim();
  const made = newPassword();
  writeWhole(file, `${made}\n`);
  return made;
};

/** The password of each service's role, created once. */
export const ensureServicePasswords = (dataDir: string): Readonly<Record<ServiceName, string>> => {
  const file = join(dataDir, 'keys', 'databases.json');
  const known = JSON.parse(readIfAny(file) ?? '{}') as Partial<Record<ServiceName, string>>;
  const passwords = Object.fromEntries(SERVICES.map((service) => [service, known[service] ?? newPassword()])) as Record<
    ServiceName,
    string
  >;
  if (SERVICES.some((service) => known[service] === undefined))
    writeWhole(file, `${JSON.stringify(passwords, undefined, 2)}\n`);
  return passwords;
};
