/** The Debian archives that this machine uses. */
export { aptSourceLine } from './apt/apt.config.js';
export { debianMirrors, type DebianMirror } from './apt/apt.sources.js';
export { readAptSources } from './apt/apt.download.js';
