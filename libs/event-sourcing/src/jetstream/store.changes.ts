import { PersistMode, type StreamConfig } from '@nats-io/jetstream';
import { isDeepStrictEqual } from 'node:util';
import { EVENT_MAX_BYTES, isLog, persistModeOf, REPLICAS_METADATA, type Store } from './stores.js';

export type FoundStore = Pick<StreamConfig, 'num_replicas'> & Partial<StreamConfig>;

/** A difference from the requested settings, or a change of them. For operators who changed a store manually. */
export interface StoreNote {
  readonly kind: 'created' | 'changed' | 'kept';
  /** The setting that is kept although it differs. */
  readonly setting?: keyof StreamConfig;
  readonly text: string;
}

export interface StorePlan {
  /** `recreate`: the senders send its content again. */
  readonly action: 'none' | 'create' | 'update' | 'recreate';
  readonly replicas: number;
  readonly settings: Partial<StreamConfig>;
  readonly notes: readonly StoreNote[];
}

const replicasText = (count: number): string => `${count} ${count === 1 ? 'replica' : 'replicas'}`;

const DURATIONS: ReadonlySet<string> = new Set<keyof StreamConfig>(['max_age', 'duplicate_window']);
const NANOS_PER_SECOND = 1_000_000_000;

const valueText = (name: string, value: unknown): string => {
  if (typeof value !== 'number') return JSON.stringify(value ?? null);
  if (value === -1 || (name === 'max_age' && value === 0)) return 'unlimited';
  return DURATIONS.has(name) ? `${value / NANOS_PER_SECOND}s` : String(value);
};

const differing = (desired: Partial<StreamConfig>, found: FoundStore): readonly (keyof StreamConfig)[] =>
  (Object.keys(desired) as (keyof StreamConfig)[]).filter((name) => !isDeepStrictEqual(found[name], desired[name]));

/** A log that is being handed over stays closed: the handover determines its settings. */
const isClosed = ({ max_msg_size: size = -1 }: FoundStore): boolean => size > 0 && size < EVENT_MAX_BYTES;

/**
 * The number of replicas that the operator requested, now or earlier; if never requested, the number that the log has.
 */
export const askedReplicas = (given: number | undefined, foundLog: FoundStore | undefined): number => {
  const recorded = Number(foundLog?.metadata?.[REPLICAS_METADATA] ?? Number.NaN);
  return given ?? (Number.isInteger(recorded) ? recorded : (foundLog?.num_replicas ?? 1));
};

/** The limits of a store that an operator changed. */
export const keptLimits = ({ limits }: Store, found: FoundStore): readonly StoreNote[] =>
  differing(limits, found).map((setting) => ({
    kind: 'kept',
    setting,
    text: `${setting} ${valueText(setting, found[setting])} kept (default: ${valueText(setting, limits[setting])})`,
  }));

const replicasNotes = (found: FoundStore, asked: number): readonly StoreNote[] => {
  const before = found.num_replicas;
  if (before < asked) return [{ kind: 'changed', text: `raised from ${replicasText(before)} to ${asked}` }];
  if (before === asked) return [];
  const text = `${replicasText(before)} kept, because replicas are never lowered: ${asked} asked for`;
  return [{ kind: 'kept', setting: 'num_replicas', text }];
};

const created = (store: Store, asked: number, given: number | undefined): StorePlan => ({
  action: 'create',
  replicas: asked,
  settings: {
    ...store.required,
    ...store.limits,
    ...persistModeOf(store, asked),
    num_replicas: asked,
    ...(isLog(store) && given !== undefined ? { metadata: { [REPLICAS_METADATA]: String(given) } } : {}),
  },
  notes: [{ kind: 'created', text: 'created' }],
});

const changedSettings = (store: Store, found: FoundStore) => {
  const names = isLog(store) && isClosed(found) ? [] : differing(store.required, found);
  return {
    settings: Object.fromEntries(names.map((name) => [name, store.required[name]])) as Partial<StreamConfig>,
    notes: names
      .filter((name) => name !== 'description')
      .map((name): StoreNote => {
        const [is, was] = [valueText(name, store.required[name]), valueText(name, found[name])];
        return { kind: 'changed', text: `${name} set to ${is}, on which Fairlead depends (was: ${was})` };
      }),
  };
};

const recordedMetadata = (store: Store, found: FoundStore, given: number | undefined): Partial<StreamConfig> => {
  if (!isLog(store) || given === undefined || found.metadata?.[REPLICAS_METADATA] === String(given)) return {};
  return { metadata: { ...found.metadata, [REPLICAS_METADATA]: String(given) } };
};

/**
 * What to do with a store. Replicas are raised and never lowered, limits that an operator changed are kept, and
 * settings that Fairlead depends on are enforced. Nothing is written if nothing differs: each write of settings is a
 * disk write, and this runs at every start.
 * @param given The number of replicas requested at this start; undefined: not specified.
 */
export const planStore = (
  store: Store,
  found: FoundStore | undefined,
  { asked, given }: { readonly asked: number; readonly given: number | undefined },
): StorePlan => {
  if (found === undefined) return created(store, asked, given);
  const replicas = Math.max(found.num_replicas, asked);
  const notes = replicasNotes(found, asked);
  if (found.sealed === true) return { action: 'none', replicas: found.num_replicas, settings: {}, notes: [] };
  // nats-server keeps one replica of a stream that does not wait for the disk.
  if (found.persist_mode === PersistMode.Async && replicas > 1) {
    const text = `created again, because it could not be raised to ${replicas} replicas; agents send again what it had`;
    const { settings } = created(store, replicas, given);
    const limits = Object.fromEntries(Object.keys(store.limits).map((name) => [name, found[name as keyof FoundStore]]));
    return {
      action: 'recreate',
      replicas,
      settings: { ...settings, ...limits },
      notes: [{ kind: 'changed', text }, ...keptLimits(store, found)],
    };
  }
  const changed = changedSettings(store, found);
  const settings = {
    ...changed.settings,
    ...(replicas === found.num_replicas ? {} : { num_replicas: replicas }),
    ...recordedMetadata(store, found, given),
  };
  return {
    action: Object.keys(settings).length === 0 ? 'none' : 'update',
    replicas,
    settings,
    notes: [...notes, ...changed.notes, ...keptLimits(store, found)],
  };
};
