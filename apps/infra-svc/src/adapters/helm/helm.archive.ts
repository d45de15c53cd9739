import { SCHEMA_BYTES_MAX, wordsOf } from '@fairlead/contracts';
import { parseJson, parseYaml } from '@fairlead/parsers';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Entry, type Extract } from 'tar-stream';
import { CatalogueFailure, type ChartSchemas } from '../../catalogue/catalogue.ports.js';
import { ENTRIES_MAX, safe, SCHEMA_DEPTH_MAX, UNPACKED_BYTES_MAX } from './helm.limits.js';

const SCHEMA_FILE = 'values.schema.json';
/** The UI schema file of charts for portals such as azimuth. */
const UI_SCHEMA_FILE = 'azimuth-ui.schema.yaml';

/** Limits the decompressed size, so that a small archive cannot expand without bound. */
async function* bounded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > UNPACKED_BYTES_MAX) throw new Error(`it unpacks to more than ${UNPACKED_BYTES_MAX} bytes`);
    yield chunk;
  }
}

const isFile = ({ header }: Entry): boolean => header.type === 'file' || header.type === 'contiguous-file';

const textOf = async (entry: Entry, file: string): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > SCHEMA_BYTES_MAX) throw new Error(`${file} is larger than ${SCHEMA_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

interface Found {
  hasChart: boolean;
  schema: string | undefined;
  uiSchema: string | undefined;
}

/** Names in an archive are only compared; nothing is written to disk. */
const read = async (entries: Extract, chart: string): Promise<Found> => {
  const found: Found = { hasChart: false, schema: undefined, uiSchema: undefined };
  let count = 0;
  for await (const entry of entries) {
    count += 1;
    if (count > ENTRIES_MAX) throw new Error(`it has more than ${ENTRIES_MAX} entries`);
    const name = entry.header.name.replace(/^\.\//, '');
    if (isFile(entry) && name === `${chart}/Chart.yaml`) found.hasChart = true;
    if (isFile(entry) && name === `${chart}/${SCHEMA_FILE}`) found.schema = await textOf(entry, SCHEMA_FILE);
    else if (isFile(entry) && name === `${chart}/${UI_SCHEMA_FILE}`)
      found.uiSchema = await textOf(entry, UI_SCHEMA_FILE);
    else entry.resume();
  }
  return found;
};

type Parse = (text: string) => unknown;

const LIMITS = { lengthMax: SCHEMA_BYTES_MAX, depthMax: SCHEMA_DEPTH_MAX };
/** The schema of values, as in the archive. */
export const asJson: Parse = (text) => parseJson(text, LIMITS);
export const asYaml: Parse = (text) => parseYaml(text, LIMITS);

const parsed = (text: string, parse: Parse, file: string): unknown => {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${wordsOf(error)}`, { cause: error });
  }
};

/** Compact JSON, without characters that the database rejects. */
export const compact = (text: string | undefined, parse: Parse, file: string): string | null => {
  if (text === undefined) return null;
  const schema = parsed(text.replace(/^\uFEFF/, ''), parse, file);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new Error(`${file} is no ${parse === asJson ? 'JSON object' : 'YAML mapping'}`);
  const json = JSON.stringify(schema);
  if (json.length > SCHEMA_BYTES_MAX) throw new Error(`${file} is larger than ${SCHEMA_BYTES_MAX} bytes`);
  return json;
};

/** Reads the values schemas of a chart from its archive (.tgz), in memory. */
export const schemasIn = async (archive: Buffer, chart: string, signal: AbortSignal): Promise<ChartSchemas> => {
  const entries = extract();
  const unpacking = pipeline(Readable.from([archive]), createGunzip(), bounded, entries, { signal });
  try {
    const [found] = await Promise.all([read(entries, chart), unpacking]);
    if (!found.hasChart) throw new Error(`it has no ${chart}/Chart.yaml`);
    return {
      schema: compact(found.schema, asJson, SCHEMA_FILE),
      uiSchema: compact(found.uiSchema, asYaml, UI_SCHEMA_FILE),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw new CatalogueFailure('ArchiveInvalid', safe(wordsOf(error)));
  }
};
