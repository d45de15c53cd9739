import { askedReplicas, isLog, keptLimits, type StoreState } from '@fairlead/event-sourcing/jetstream';

export interface StoreReplicas {
  readonly store: string;
  readonly asked: number;
  readonly configured: number;
  /** Servers that have all of it. */
  readonly inSync: number;
}

export const replicasOf = (states: readonly StoreState[]): readonly StoreReplicas[] => {
  const asked = askedReplicas(undefined, states.find(({ store }) => isLog(store))?.found);
  return states.map(({ store, found, inSync }) => ({
    store: store.name,
    asked,
    configured: found.num_replicas,
    inSync,
  }));
};

/** Limits that an operator has changed, by store. */
export const changedLimits = (states: readonly StoreState[]): readonly { store: string; setting: string }[] =>
  states.flatMap(({ store, found }) =>
    keptLimits(store, found).map(({ setting = '' }) => ({ store: store.name, setting })),
  );

/** What an operator should know of the stores, a line each. */
export const storeWarnings = (states: readonly StoreState[]): readonly string[] => [
  ...replicasOf(states).flatMap(({ store, asked, configured, inSync }) => [
    ...(configured === asked
      ? []
      : [
          `${store} is configured with ${configured === 1 ? '1 replica' : `${configured} replicas`}, and ${asked} were asked for`,
        ]),
    ...(inSync >= configured ? [] : [`${inSync} of the ${configured} replicas of ${store} are in sync`]),
  ]),
  ...states.flatMap(({ store, found }) => keptLimits(store, found).map(({ text }) => `${store.name}: ${text}`)),
];
