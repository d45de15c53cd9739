import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { INSTANCE_STATES, MESSAGES, METHODS, SERVICE, type MessageName, type Method } from './externalgrpc.messages.js';

/** Releases of Cluster Autoscaler whose protocol differs; each is served, and so are those between. */
const RELEASES = ['1.33.0', '1.34.5', '1.36.1'];

const published = (release: string): protobuf.Root => {
  const file = new URL(`../../upstream/cluster-autoscaler/${release}/externalgrpc.proto`, import.meta.url);
  return protobuf.parse(readFileSync(file, 'utf8'), new protobuf.Root(), { keepCase: true }).root;
};

const PACKAGE = SERVICE.slice(0, SERVICE.lastIndexOf('.'));
const typeIn = (root: protobuf.Root, name: string): protobuf.Type => root.lookupType(`${PACKAGE}.${name}`);

/** A message on the wire is its bytes: a field that is passed on as it came may be any message, and an enum is a number. */
const isSame = (type: protobuf.Type, published: string, ours: string): boolean => {
  if (published === ours) return true;
  const nested = type.lookup(published);
  if (nested instanceof protobuf.Enum) return ours === 'int32';
  return ours === 'bytes' || ours in MESSAGES;
};

/** Fields of ours that the published message has otherwise, and what to compare next: pairs of messages. */
const compared = (root: protobuf.Root, name: string, ours: MessageName) => {
  const type = typeIn(root, name);
  const fields = Object.entries<string>(MESSAGES[ours]);
  const differing: string[] = [];
  const next: [string, MessageName][] = [];
  for (const [field, text] of fields) {
    const [, number, shape, of = ''] = /^(\d+) ([*%]?)(\w+)$/.exec(text) ?? [];
    const found = type.fieldsById[Number(number)];
    // A field of other releases.
    if (found === undefined) continue;
    const isList = shape === '*';
    if (found.name !== field || found.repeated !== isList || !isSame(type, found.type, of))
      differing.push(`${name}.${field}: ${text}, published as ${found.id} ${found.type} ${found.name}`);
    if (of in MESSAGES) next.push([found.type, of as MessageName]);
  }
  return { differing, next };
};

describe.each(RELEASES)('the protocol that Cluster Autoscaler %s publishes', (release) => {
  const root = published(release);
  const service = root.lookupService(SERVICE);

  it('has the methods that are served, and no others', () => {
    expect(Object.keys(METHODS)).toEqual(service.methodsArray.map(({ name }) => name));
  });

  it('has every field that is read or answered, with its number and type', () => {
    const open = service.methodsArray.flatMap(({ name, requestType, responseType }): [string, MessageName][] => {
      const [asked, answered] = METHODS[name as Method];
      return [
        [requestType, asked],
        [responseType, answered],
      ];
    });
    const seen = new Set<string>();
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const [name, ours] = pair;
      if (seen.has(name)) continue;
      seen.add(name);
      const { differing, next } = compared(root, name, ours);
      expect(differing).toEqual([]);
      open.push(...next);
    }
    expect(seen.size).toBeGreaterThan(service.methodsArray.length);
  });

  it('has the node of an empty pool in a field that is answered', () => {
    const { fieldsArray } = typeIn(root, 'NodeGroupTemplateNodeInfoResponse');
    const answered = Object.entries(MESSAGES.Template).map(([name, text]) => `${parseInt(text, 10)} ${name}`);
    for (const { id, name } of fieldsArray) expect(answered).toContain(`${id} ${name}`);
  });

  it('has the states of instances that are answered', () => {
    const { values } = typeIn(root, 'InstanceStatus').lookupEnum('InstanceState');
    const { running, creating, deleting } = INSTANCE_STATES;
    expect(values).toMatchObject({ instanceRunning: running, instanceCreating: creating, instanceDeleting: deleting });
  });
});
