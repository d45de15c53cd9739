export { newFolder, removeFolder } from './folders.js';
export { projectFiles } from './project.files.js';
export { seededRandom, type Random } from './random.js';
export { MemorySecrets } from './memory.secrets.js';
export { eventually, eventuallyPasses, type Patience } from './waiting.js';
