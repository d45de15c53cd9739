import { renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '@fairlead/embedded/process';

/** Writes a kubeconfig whole or not at all, for its owner's eyes only: it is an administrator's credential. */
export const writeKubeconfig = (file: string, text: string): void => {
  makeFolder(dirname(file), 0o700);
  writeFileSync(`${file}.tmp`, text, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
};
