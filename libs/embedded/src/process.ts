/** Utilities for any program on this machine: run commands, identify processes reliably, and write files atomically. */
export { cacheFolder } from './folder/cache-folder.js';
export { makeFolder, readIfAny, writeWhole } from './folder/files.js';
export { lastWordsOf, runCommand, signalProcess, type CommandOptions, type CommandResult } from './process/command.js';
export { identityOf, isAlive, type ProcessIdentity } from './process/identity.js';
export { waitUntil } from './process/waiting.js';
