export { handlerOf, handlersOf } from './simulation/handlers.js';
export { Program, type Parts } from './simulation/program.js';
export { CALM, Simulation, type Passage, type Troubles } from './simulation/simulation.js';
export { Killed, Life } from './simulation/turns.js';
