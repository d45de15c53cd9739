import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder among the temporary files; `name` says which spec left it behind. */
export const newFolder = (name: string): string => mkdtempSync(join(tmpdir(), `fairlead-${name}-`));

/** Also when it is gone already. */
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });
