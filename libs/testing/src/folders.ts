import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new temporary folder; `name` identifies the spec that left it behind. */
export const newFolder = (name: string): string => mkdtempSync(join(tmpdir(), `fairlead-${name}-`));

/** A missing folder is not an error. */
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });
