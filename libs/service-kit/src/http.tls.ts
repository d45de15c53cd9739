import { wordsOf } from '@fairlead/contracts';
import { Logger } from '@nestjs/common';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { ConfigurationError } from './configuration.error.js';

/** Files with a certificate, its chain included, and its key, both PEM. They may be one. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Where certificates are renewed, files are replaced; by a rename, too, which a watch on the file itself would miss. */
const LOOK_EVERY_MS = 2_000;

/** Throws when one of them cannot be read, or the key is not the certificate's. */
const readPair = ({ certFile, keyFile }: TlsFiles): TlsPair => {
  const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  createSecureContext(pair);
  return pair;
};

/** What a server begins with. Throws ConfigurationError. */
export const tlsPair = (files: TlsFiles): TlsPair => {
  try {
    return readPair(files);
  } catch (error) {
    throw new ConfigurationError([`TLS_CERT_FILE, TLS_KEY_FILE: ${wordsOf(error)}`]);
  }
};

/** Connections from now on get what the files say, also when they change; files that cannot be used change nothing. Answers how to stop. */
export const followTlsFiles = (server: Server, files: TlsFiles): (() => void) => {
  const log = new Logger('tls');
  const paths = new Set([files.certFile, files.keyFile]);
  const reload = (): void => {
    try {
      server.setSecureContext(readPair(files));
      log.log(`the certificate in ${files.certFile} was read again`);
    } catch (error) {
      // Between the change of one file and of the other they do not fit, too; the next change is looked at again.
      log.warn(`the certificate in ${files.certFile} is not used, the one before stays: ${wordsOf(error)}`);
    }
  };
  for (const path of paths) watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
};
