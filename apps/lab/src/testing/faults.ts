// For specs of other projects: what the lab accepts as a fault.
export { Fault } from '../faults/faults.js';
