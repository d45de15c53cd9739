import { ROUGH, Simulation, type Troubles } from './simulation.js';

export const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);

/** Runs a story with this number of seeds. A failing seed is reported with its events. */
export const forSeeds = async (
  count: number,
  story: (simulation: Simulation) => Promise<void>,
  troubles: Troubles = ROUGH,
): Promise<void> => {
  for (let seed = SEED_FIRST; seed < SEED_FIRST + count; seed += 1) {
    const simulation = new Simulation(seed, troubles);
    try {
      await story(simulation);
    } catch (error) {
      const events = simulation.types.join(' ');
      throw new Error(`SIM_SEED=${seed}\n  ${simulation.trace.slice(-60).join('\n  ')}\n${events}`, { cause: error });
    }
  }
};
