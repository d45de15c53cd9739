import { EVENTS, isEventType, type EventData, type EventType } from '@fairlead/contracts';

/**
 * Converts the data of one version to the next. Pure. Stored events are never changed; they are upcast when they are
 * read.
 */
export type Upcaster = (data: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** `<Type>.v<n>` -> conversion to version n+1. Empty while every type is at its first version. */
const UPCASTERS: Readonly<Record<string, Upcaster>> = {};

export interface Lifted {
  readonly type: EventType;
  readonly data: EventData<EventType>;
}

/**
 * Parses `<Type>.v<n>` and upcasts the data to the newest version. undefined: a type that this release does not know,
 * which a reader skips (a newer service may have written it). A newer version is an error: this reader must be
 * upgraded.
 */
export const lift = (versionedType: string, data: Readonly<Record<string, unknown>>): Lifted | undefined => {
  const dot = versionedType.lastIndexOf('.v');
  const type = versionedType.slice(0, dot);
  if (!isEventType(type)) return undefined;
  const newest = EVENTS[type].version;
  let version = Number(versionedType.slice(dot + 2));
  if (version > newest) {
    throw new Error(
      `${versionedType} was written by a newer release (this one knows ${type}.v${newest}); upgrade this service`,
    );
  }
  let lifted = data;
  for (; version < newest; version += 1) {
    const upcast = UPCASTERS[`${type}.v${version}`];
    if (upcast === undefined) throw new Error(`no upcaster from ${type}.v${version}`);
    lifted = upcast(lifted);
  }
  return { type, data: lifted as EventData<EventType> };
};
