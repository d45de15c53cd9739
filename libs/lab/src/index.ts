export { startLab, type LabHandle } from './lab.js';
export { LabConfig, parseConfig } from './lab.config.js';
