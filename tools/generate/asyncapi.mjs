// The event catalogue as an AsyncAPI 3 document: one channel per event type, sent by the only service that may append
// it. `npm run asyncapi` prints it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { Envelope, EVENTS, PARTITION_COUNT, STREAMS } from '../../libs/contracts/dist/index.js';

const DRAFT_07 = 'application/schema+json;version=draft-07';

const jsonSchema = (schema) => {
  const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'output',
    unrepresentable: 'any',
    override: ({ jsonSchema: part }) => {
      if (part.format === 'date-time') delete part.pattern;
    },
  });
  return converted;
};

const ENVELOPE = '#/components/schemas/Envelope';

const payloadOf = (type, { version, data }) => ({
  allOf: [
    { $ref: ENVELOPE },
    { properties: { type: { type: 'string', const: `${type}.v${version}` }, data: jsonSchema(data) } },
  ],
});

const messageOf = ([type, definition]) => [
  type,
  {
    name: `${type}.v${definition.version}`,
    title: type,
    summary: definition.doc,
    contentType: 'application/json',
    payload: { schemaFormat: DRAFT_07, schema: payloadOf(type, definition) },
  },
];

const PLACES = {
  partition: { description: `fnv1a32("<namespace>/<cluster>") % ${PARTITION_COUNT}` },
  namespace: { description: 'Namespace of the cluster; _ for what belongs to none' },
  cluster: { description: 'Name of the cluster; _ for what belongs to none' },
};
const INNER_PLACE = /<(\w+)>/;

const parametersOf = (context) => {
  const inner = INNER_PLACE.exec(context)?.[1];
  return inner === undefined ? PLACES : { ...PLACES, [inner]: { description: `Name of the ${inner}` } };
};

const channelOf = ([type, { context, doc }]) => [
  type,
  {
    address: `evt.{partition}.{namespace}.{cluster}.${context.replace(INNER_PLACE, '{$1}')}.${type}`,
    description: doc,
    parameters: parametersOf(context),
    messages: { [type]: { $ref: `#/components/messages/${type}` } },
  },
];

const operationOf = ([type, { writer, doc }]) => [
  `state${type}`,
  {
    action: 'send',
    summary: doc,
    description: `Only ${writer} may; the NATS server refuses other writers.`,
    tags: [{ name: writer }],
    channel: { $ref: `#/channels/${type}` },
    messages: [{ $ref: `#/channels/${type}/messages/${type}` }],
  },
];

export const asyncApiDocument = (version) => {
  const events = Object.entries(EVENTS);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Fairlead events',
      version,
      description: `Every fact of Fairlead, on the JetStream stream ${STREAMS.events}. Any service may read all of them; each type has one writer. The payload is a CloudEvents 1.0 envelope in JSON.`,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: { nats: { host: 'localhost:4222', protocol: 'nats', description: 'NATS 2.12 or newer with JetStream' } },
    channels: Object.fromEntries(events.map(channelOf)),
    operations: Object.fromEntries(events.map(operationOf)),
    components: { schemas: { Envelope: jsonSchema(Envelope) }, messages: Object.fromEntries(events.map(messageOf)) },
  };
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  console.log(JSON.stringify(asyncApiDocument(version), null, 2));
}
