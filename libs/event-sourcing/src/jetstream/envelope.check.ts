import { Envelope } from '@fairlead/contracts';
import { DEPTH_MAX, isDeeper, jsonOf } from './message.text.js';

type Fields = Readonly<Record<string, unknown>>;

const TEXTS = [
  'id',
  'source',
  'type',
  'subject',
  'dataschema',
  'correlationid',
  'causationid',
  'actor',
  'prevhash',
] as const;
const FIELDS = Object.keys(Envelope.shape);
const KNOWN: ReadonlySet<string> = new Set(FIELDS);

/** What `Date.toISOString` writes in the years that have four digits, without 29 February. */
const USUAL_TIME =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Recognizes an envelope as Fairlead writes it without the schema, which takes several times as long: a replay reads every message
 * of the log. It accepts less than the schema, and what it does not accept the schema judges.
 */
export const isUsualEnvelope = (value: unknown): value is Envelope => {
  if (!isRecord(value)) return false;
  let fields = 0;
  for (const key in value) {
    // Mostly they are in this order.
    if (key !== FIELDS[fields] && !KNOWN.has(key)) return false;
    fields += 1;
  }
  if (fields !== FIELDS.length) return false;
  for (const key of TEXTS) if (typeof value[key] !== 'string') return false;
  return (
    value['specversion'] === '1.0' &&
    value['datacontenttype'] === 'application/json' &&
    value['id'] !== '' &&
    Number.isSafeInteger(value['streamversion']) &&
    (value['streamversion'] as number) >= 1 &&
    typeof value['time'] === 'string' &&
    USUAL_TIME.test(value['time']) &&
    isRecord(value['data'])
  );
};

/** What a JSON string can contain as it is. */
const PLAIN = '[^"\\\\\\p{Cc}]';
/** The beginning of a message, by the values of its fields in the order in which `encode` writes them. */
const VALUES = {
  specversion: '"1\\.0"',
  id: `"(${PLAIN}+)"`,
  time: `"(${USUAL_TIME.source.slice(1, -1)})"`,
  datacontenttype: '"application/json"',
  streamversion: '([1-9]\\d{0,14})',
  data: '(?=\\{)',
};
const valueIn = (field: string): string => (field in VALUES ? VALUES[field as keyof typeof VALUES] : `"(${PLAIN}*)"`);
const HEAD = new RegExp(`^\\{${FIELDS.map((field) => `"${field}":${valueIn(field)}`).join(',')}`, 'u');

/** What is taken out of a text keeps the whole of it in memory. */
const LENGTH_MAX = 1_024;

/**
 * The envelope in a message as `encode` writes it; undefined: it is another one, or none. Only its data is parsed, so it takes half as long
 * as to parse the whole: a replay reads every message of the log.
 */
export const writtenEnvelope = (text: string): Envelope | undefined => {
  if (text.length > LENGTH_MAX || !text.endsWith('}') || text.includes('\\u')) return undefined;
  const found = HEAD.exec(text);
  if (found === null) return undefined;
  // The data, and nothing after it: otherwise this is no JSON.
  const data = jsonOf(text.slice(found[0].length, -1))?.value as Envelope['data'] | undefined;
  if (data === undefined || isDeeper(data, DEPTH_MAX - 1)) return undefined;
  const [, id, source, type, subject, time, dataschema, correlationid, causationid, actor, version, prevhash] =
    found as unknown as readonly string[];
  return {
    specversion: '1.0',
    id: id!,
    source: source!,
    type: type!,
    subject: subject!,
    time: time!,
    datacontenttype: 'application/json',
    dataschema: dataschema!,
    correlationid: correlationid!,
    causationid: causationid!,
    actor: actor!,
    streamversion: Number(version),
    prevhash: prevhash!,
    data,
  };
};
