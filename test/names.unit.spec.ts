import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  CONNECTIONS_STREAM,
  EVENTS,
  eventSubject,
  namespaceStream,
  scopeOf,
  type EventType,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { project, type Projection } from '@fairlead/event-sourcing';
import { read } from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readSettings as readGatewaySettings } from '../apps/gateway/src/config.js';
import { gatewayService } from '../apps/gateway/src/service.js';
import { readSettings as readInfraSettings } from '../apps/infra-svc/src/config.js';
import { infraService } from '../apps/infra-svc/src/service.js';
import { readSettings as readUpgradeSettings } from '../apps/upgrade-svc/src/config.js';
import { upgradeService } from '../apps/upgrade-svc/src/service.js';

const SAMPLES = fileURLToPath(new URL('../libs/contracts/src/events/samples/', import.meta.url));
const TYPES = Object.keys(EVENTS) as EventType[];
const OWN = { namespace: 'default', cluster: 'demo' };

type Data = Readonly<Record<string, unknown>>;

/** bootstrap-svc has no projections. */
const projections = [
  gatewayService(readGatewaySettings({})),
  infraService(readInfraSettings({})),
  upgradeService(readUpgradeSettings({})),
].flatMap((service) =>
  service.projections.map((projection) => ({
    name: `${service.name} ${projection.name}`,
    projection,
  })),
);

const sampleOf = (type: EventType): Data =>
  JSON.parse(readFileSync(`${SAMPLES}${type}.v${EVENTS[type].version}.json`, 'utf8')) as Data;

const placeOf = (type: EventType, data: Data): StreamId => {
  const context = EVENTS[type].context.replace(/<(\w+)>/, (_all, field: string) => String(data[field]));
  switch (scopeOf(EVENTS[type])) {
    case 'installation':
      return { ...CONNECTIONS_STREAM, context };
    case 'namespace':
      return { ...namespaceStream(String(data['name'])), context };
    default:
      return { ...OWN, context };
  }
};

/** Reads the data as if its writer had stated it in the sample's stream. */
const stated = (type: EventType, at: StreamId, data: Data): StoredEvent | undefined => {
  const { source, actor } = writerOf(at, type);
  const envelope = {
    specversion: '1.0',
    id: 'e-1',
    source,
    type: `${type}.v${EVENTS[type].version}`,
    subject: `${at.namespace}/${at.cluster}`,
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    dataschema: '',
    correlationid: 'c-1',
    causationid: 'c-1',
    actor,
    streamversion: 1,
    prevhash: '',
    data,
  };
  const decoded = read(eventSubject(at, type), 1, new TextEncoder().encode(JSON.stringify(envelope)));
  return decoded.kind === 'event' ? decoded.event : undefined;
};

const FOREIGN = ['foreign', 'foreign-w1', 'default/foreign', 'team-b/demo', 'x/default/foreign', '../foreign', '_', ''];

/** The data with some of its texts replaced. */
const changed = (value: unknown, next: () => string | undefined): unknown => {
  if (typeof value === 'string') return next() ?? value;
  if (Array.isArray(value)) return value.map((inner) => changed(inner, next));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(inner, next)]));
};

/** Whether the row belongs to the subject of the event. */
const isOwnRow = (key: string, { type, data, meta }: StoredEvent): boolean => {
  const own = `${meta.namespace}/${meta.cluster}`;
  switch (scopeOf(EVENTS[type])) {
    case 'namespace':
      return key === meta.namespace;
    case 'installation': {
      // Contexts shared by all connections have one writer, which names the connection in the data; others contain the
      // name themselves.
      const named = /^(?:resources|stock|catalogue)-(.+)$/.exec(meta.context)?.[1];
      const shared = meta.context === 'ssh-keys' ? (data as Data)['connection'] : (data as Data)['name'];
      // Rows of an application's versions begin with its name.
      return key === (named ?? shared) || (named !== undefined && key.startsWith(`${named}/`));
    }
    default:
      return key === own || key.startsWith(`${own}/`) || key.endsWith(`/${own}`);
  }
};

const foreignRows = (projection: Projection<unknown>, event: StoredEvent): readonly string[] => {
  const { rows } = project(projection, () => undefined, [event]);
  const named = [...rows].filter(([, { doc }]) => {
    const { namespace, cluster } = (doc ?? {}) as { namespace?: string; cluster?: string };
    return (
      (namespace ?? event.meta.namespace) !== event.meta.namespace ||
      (cluster ?? event.meta.cluster) !== event.meta.cluster
    );
  });
  const keys = [...projection.keys(event), ...rows.keys()].filter((key) => !isOwnRow(key, event));
  return [...keys, ...named.map(([key]) => key)];
};

describe('an event with foreign data', () => {
  it('is tried on the projections of every service', () => {
    expect(projections.length).toBeGreaterThanOrEqual(17);
  });

  it.each(TYPES)('%s is rejected or changes only rows of its subject', (type) => {
    const sample = sampleOf(type);
    const at = placeOf(type, sample);
    expect(stated(type, at, sample)).toBeDefined();
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.constantFrom(...FOREIGN), { nil: undefined, freq: 3 }), { maxLength: 30 }),
        (texts) => {
          const left = [...texts];
          const event = stated(type, at, changed(sample, () => left.shift()) as Data);
          if (event === undefined) return;
          const foreign = projections.flatMap(({ name, projection }) =>
            foreignRows(projection, event).map((key) => `${name}: ${key}`),
          );
          // One expectation per event: thousands of them cost more than the projections.
          expect(foreign).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is detected in a projection that trusts the data', () => {
    const careless: Projection<unknown> = {
      name: 'careless',
      table: 'careless',
      keys: (event) => (event.type === 'VmDeleted' ? [event.data.name] : []),
      evolve: () => ({}),
    };
    const event = stated('VmDeleted', { ...OWN, context: 'machines' }, sampleOf('VmDeleted'))!;
    expect(foreignRows(careless, event)).not.toEqual([]);
  });
});
