/** The Debian archives that this machine uses, and programs from them. */
export { aptSourceLine } from './apt/apt.config.js';
export { provideDebianProgram } from './apt/apt.program.js';
export { provideDebianTree } from './apt/apt.tree.js';
export { debianMirrors, type DebianMirror } from './apt/apt.sources.js';
export { readAptSources } from './apt/apt.download.js';
