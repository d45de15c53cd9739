// For specs of other projects: the schema of a fault.
export { Fault } from '../faults/faults.js';
