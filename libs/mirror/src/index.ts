export * from './atomic.js';
export * from './bundle.js';
export * from './bytes.js';
export * from './cache.js';
export * from './catalogue.js';
export * from './downloads.js';
export * from './source.js';
export * from './tar.js';
