import type { z } from 'zod';
import { addressEvents } from './address.events.js';
import { actionEvents } from './action.events.js';
import { addonEvents } from './addon.events.js';
import { applicationEvents } from './application.events.js';
import { bootstrapEvents } from './bootstrap.events.js';
import { driftEvents } from './drift.events.js';
import { execEvents } from './exec.events.js';
import { joinEvents } from './join.events.js';
import { machinesEvents } from './machines.events.js';
import { networkEvents } from './network.events.js';
import { nodeEvents, rolloutEvents } from './node.events.js';
import { identityEvents, realmEvents } from './realm.events.js';
import { powerEvents } from './power.events.js';
import { processEvents } from './process.events.js';
import { quarantineEvents } from './quarantine.events.js';
import { publicationEvents } from './publication.events.js';
import { presenceEvents } from './presence.events.js';
import { releaseEvents } from './release.events.js';
import { remediationEvents } from './remediation.events.js';
import { rolloutFactEvents, upgradeRequestEvents } from './rollout.events.js';
import { stockEvents } from './stock.events.js';
import { requestEvents } from './request.events.js';
import { watchEvents } from './watch.events.js';

/** Every public event, by type. Append-only: a released version never changes; a new one comes with an upcaster. */
export const EVENTS = {
  ...requestEvents,
  ...upgradeRequestEvents,
  ...machinesEvents,
  ...stockEvents,
  ...watchEvents,
  ...powerEvents,
  ...realmEvents,
  ...identityEvents,
  ...publicationEvents,
  ...applicationEvents,
  ...releaseEvents,
  ...joinEvents,
  ...bootstrapEvents,
  ...addonEvents,
  ...rolloutEvents,
  ...rolloutFactEvents,
  ...nodeEvents,
  ...addressEvents,
  ...networkEvents,
  ...remediationEvents,
  ...driftEvents,
  ...actionEvents,
  ...execEvents,
  ...presenceEvents,
  ...quarantineEvents,
  ...processEvents,
} as const;

export type EventType = keyof typeof EVENTS;
/** Operators' requests about upgrades, and upgrade-svc's facts about rollouts. */
export type UpgradeRequestType = keyof typeof upgradeRequestEvents;
export type RolloutFactType = keyof typeof rolloutFactEvents;
export type EventData<T extends EventType> = z.output<(typeof EVENTS)[T]['data']>;

/** A fact as deciders return it: type and data. Time, id and author are added on append. */
export type Fact<T extends EventType = EventType> = { [K in T]: { readonly type: K; readonly data: EventData<K> } }[T];

export const isEventType = (type: string): type is EventType => Object.hasOwn(EVENTS, type);
