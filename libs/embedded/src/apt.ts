/** The Debian archives that this machine uses. */
export { aptSourceLine } from './nats/apt.config.js';
export { debianMirrors, type DebianMirror } from './nats/apt.sources.js';
export { readAptSources } from './nats/apt.download.js';
