/** What any program of this machine needs to run commands, to know processes for ever, and to keep files whole. */
export { cacheFolder } from './folder/cache-folder.js';
export { makeFolder, readIfAny, writeWhole } from './folder/files.js';
export { lastWordsOf, runCommand, signalProcess, type CommandOptions, type CommandResult } from './process/command.js';
export { identityOf, isAlive, type ProcessIdentity } from './process/identity.js';
export { waitUntil } from './process/waiting.js';
