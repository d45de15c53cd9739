export { Follower } from './simulation/follower.js';
export { handlerOf, handlersOf } from './simulation/handlers.js';
export { Program, type Parts } from './simulation/program.js';
export { Simulation, type Passage } from './simulation/simulation.js';
export { CALM, type Troubles } from './simulation/troubles.js';
export { Killed, Life } from './simulation/turns.js';
