import { wordsOf } from '@fairlead/contracts';
import { Logger } from '@nestjs/common';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { ConfigurationError } from './configuration.error.js';

/** Files with a certificate chain and its key, both PEM. They may be the same file. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Renewals replace the files, possibly by a rename, which a watch on the file itself would miss. */
const POLL_INTERVAL_MS = 2_000;

/** Throws if a file cannot be read, or the key does not match the certificate. */
const readPair = ({ certFile, keyFile }: TlsFiles): TlsPair => {
  const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  createSecureContext(pair);
  return pair;
};

/** The initial certificate of a server. Throws ConfigurationError. */
export const tlsPair = (files: TlsFiles): TlsPair => {
  try {
    return readPair(files);
  } catch (error) {
    throw new ConfigurationError([`TLS_CERT_FILE, TLS_KEY_FILE: ${wordsOf(error)}`]);
  }
};

/**
 * Reloads the certificate when the files change, for new connections; invalid files are ignored. Returns a function
 * that stops it.
 */
export const followTlsFiles = (server: Server, files: TlsFiles): (() => void) => {
  const log = new Logger('tls');
  const paths = new Set([files.certFile, files.keyFile]);
  const reload = (): void => {
    try {
      server.setSecureContext(readPair(files));
      log.log(`the certificate in ${files.certFile} was read again`);
    } catch (error) {
      // Between the changes of the two files they do not match either; the next change is checked again.
      log.warn(`the certificate in ${files.certFile} is not used, the one before stays: ${wordsOf(error)}`);
    }
  };
  for (const path of paths) watchFile(path, { interval: POLL_INTERVAL_MS, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
};
