/** The time as a value: shells take it from here, pure code gets it in commands and events. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
