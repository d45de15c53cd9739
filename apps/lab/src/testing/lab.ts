// For specs of other projects: a running lab.
export { PREPARE_HOST, TestLab, must } from './test.lab.js';
