import { parseJsonOrUndefined } from '@fairlead/parsers';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../command/session.js';
import { errorCodeOf } from '@fairlead/contracts';
import { namesIn } from './folder.names.js';

const KEY_FILES_MAX = 500;
const KEY_FILE_MAX_BYTES = 65_536;
/** A value without spaces that is at least so long is random; names and addresses are shorter, or have a colon. */
const RANDOM = /^[\w+/=-]{24,}$/;
/** A public key of NATS: it identifies an account, and opens nothing. */
const PUBLIC_NKEY = /^[AOUNXC][A-Z2-7]{55}$/;
const ASSIGNMENT = /^[A-Z][A-Z\d_]*=(.*)$/;

/** Secrets that this machine knows: the token in use, and the keys, passwords and credentials of the local instance. */
export const knownSecrets = ({ access: { token, instance } }: Session): readonly string[] => {
  const files =
    instance === undefined
      ? []
      : ['keys', 'creds'].flatMap((name) => {
          const folder = join(instance.dataDir, name);
          return namesIn(folder).map((file) => join(folder, file));
        });
  const known = files.slice(0, KEY_FILES_MAX).flatMap((file) => secretsIn(textOf(file)));
  return [...new Set([...(token === undefined ? [] : [token]), ...known])];
};

const textOf = (file: string): string => {
  try {
    const stats = statSync(file);
    return stats.isFile() && stats.size <= KEY_FILE_MAX_BYTES ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
    return '';
  }
};

/** Of a file of keys: JSON with passwords and seeds, an environment file, or a key by lines. */
export const secretsIn = (text: string): readonly string[] => {
  const data = parseJsonOrUndefined(text, { lengthMax: KEY_FILE_MAX_BYTES });
  if (typeof data === 'object' || typeof data === 'string') return textsIn(data).filter(isRandom);
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => !line.startsWith('---'))
    .flatMap((line) => {
      const value = ASSIGNMENT.exec(line)?.[1];
      return value === undefined ? [line] : secretsOfValue(value.replaceAll(/^(['"`])(.*)\1$/g, '$2'));
    });
};

/** Of an environment file most values are addresses and paths. */
const secretsOfValue = (value: string): readonly string[] => {
  const password = URL.canParse(value) ? new URL(value).password : '';
  return [...(password === '' ? [] : [password]), ...(isRandom(value) && !value.startsWith('/') ? [value] : [])];
};

const isRandom = (text: string): boolean => RANDOM.test(text) && !PUBLIC_NKEY.test(text);

const textsIn = (data: unknown): readonly string[] => {
  if (typeof data === 'string') return [data];
  return typeof data === 'object' && data !== null ? Object.values(data).flatMap(textsIn) : [];
};
