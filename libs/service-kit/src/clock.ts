/** The time as a dependency: shells read it here, pure code receives it in commands and events. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
