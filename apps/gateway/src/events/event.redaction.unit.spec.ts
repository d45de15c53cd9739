import { EVENTS, type EventType, type Fact } from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { CONNECTION_FIELDS, tenantEventView } from './event.redaction.js';

const SAMPLES = new URL('../../../../libs/contracts/src/events/samples/', import.meta.url);

const EVENT_TYPES = Object.keys(EVENTS) as EventType[];

const sample = (type: string) => {
  const data = JSON.parse(readFileSync(new URL(`${type}.v1.json`, SAMPLES), 'utf8')) as Fact['data'];
  return stored({ type, data } as Fact, 1);
};

const fieldsOf = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, inner]) => [field, ...fieldsOf(inner)]);
};

/** Names of all properties in the schema of an event. */
const schemaFields = (schema: z.ZodType): readonly string[] => {
  const named = (node: unknown): readonly string[] => {
    if (Array.isArray(node)) return node.flatMap(named);
    if (typeof node !== 'object' || node === null) return [];
    return Object.entries(node).flatMap(([key, inner]) =>
      key === 'properties' ? [...Object.keys(inner as object), ...named(inner)] : named(inner),
    );
  };
  return named(z.toJSONSchema(schema, { unrepresentable: 'any' }));
};

const LOOKS_LIKE_CONNECTION = /^(ssh|jump|settings|profile|hosts)$|(Ref|hostKey|password|secret)$/;

const CANARY = 'canary.example';

/** The machine of the samples, behind a jump host. */
const behindJump = (type: 'VmCreated' | 'VmsCreated') => {
  const event = sample(type);
  const text = JSON.stringify(event.data).replace(
    /"hostKey":null/,
    `"hostKey":null,"jump":{"host":"${CANARY}","port":22,"user":"${CANARY}","keyRef":"gateway.connection.site.jump","hostKey":null}`,
  );
  return { ...event, data: JSON.parse(text) } as typeof event;
};

describe('the events of a cluster, for those who are not administrators of all namespaces', () => {
  it.each(EVENT_TYPES)(
    'say nothing in %s of how a connection reaches its machines, or where keys are sealed',
    (type) => {
      const view = tenantEventView(sample(type));
      const left = fieldsOf(view.data).filter(
        (field) => CONNECTION_FIELDS.has(field) && !(type === 'LoadBalancerReady' && field === 'host'),
      );
      expect(left).toEqual([]);
      expect(JSON.stringify(view)).not.toMatch(/gateway\.connection\.|infra-svc\.ssh-key|"SHA256:/);
    },
  );

  it.each(EVENT_TYPES)(
    'withhold whatever the schema of %s has of a connection, also what its sample has not',
    (type) => {
      const suspects = schemaFields(EVENTS[type].data).filter((field) => LOOKS_LIKE_CONNECTION.test(field));
      expect(suspects.filter((field) => !CONNECTION_FIELDS.has(field))).toEqual([]);
    },
  );

  it.each(['VmCreated', 'VmsCreated'] as const)('show a machine of %s without the jump host before it', (type) => {
    const event = behindJump(type);
    expect(JSON.stringify(event)).toContain(CANARY);
    const view = tenantEventView(event);
    expect(JSON.stringify(view)).not.toContain(CANARY);
    expect(JSON.stringify(view.data)).toContain('"publicIp":"127.99.1.1"');
    expect(view.sentence).toBe(sentenceOfEvent(event));
  });

  it("keep the address of the cluster's API", () => {
    expect(tenantEventView(sample('LoadBalancerReady')).data).toMatchObject({ host: '127.99.1.1', port: 6443 });
  });
});
