import { Envelope } from '@fairlead/contracts';

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

/** The format of `Date.toISOString` for four-digit years, without 29 February. */
const USUAL_TIME =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Recognizes an envelope in the form that Fairlead writes without the schema, which takes several times as long: a
 * replay reads every message of the log. It accepts a subset of the schema; everything else is validated by the schema.
 */
export const isUsualEnvelope = (value: unknown): value is Envelope => {
  if (!isRecord(value)) return false;
  let fields = 0;
  for (const key in value) {
    // They are usually in this order.
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
