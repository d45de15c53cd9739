import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a kubeconfig whole or not at all, for its owner's eyes only: it is an administrator's credential. */
export const writeKubeconfig = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.tmp`, text, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
};
