import { SCHEMA_BYTES_MAX, wordsOf } from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Entry, type Extract } from 'tar-stream';
import { CatalogueFailure } from '../../catalogue/catalogue.ports.js';
import { ENTRIES_MAX, safe, SCHEMA_DEPTH_MAX, UNPACKED_BYTES_MAX } from './helm.limits.js';

const SCHEMA_FILE = 'values.schema.json';

/** Counts what comes out of the compression, so that a small archive cannot become a large one. */
async function* bounded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > UNPACKED_BYTES_MAX) throw new Error(`it unpacks to more than ${UNPACKED_BYTES_MAX} bytes`);
    yield chunk;
  }
}

const isFile = ({ header }: Entry): boolean => header.type === 'file' || header.type === 'contiguous-file';

const textOf = async (entry: Entry): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > SCHEMA_BYTES_MAX) throw new Error(`${SCHEMA_FILE} is larger than ${SCHEMA_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

interface Found {
  hasChart: boolean;
  schema: string | undefined;
}

/** Names in an archive are compared and nothing else: nothing is written anywhere. */
const read = async (entries: Extract, chart: string): Promise<Found> => {
  const found: Found = { hasChart: false, schema: undefined };
  let count = 0;
  for await (const entry of entries) {
    count += 1;
    if (count > ENTRIES_MAX) throw new Error(`it has more than ${ENTRIES_MAX} entries`);
    const name = entry.header.name.replace(/^\.\//, '');
    if (isFile(entry) && name === `${chart}/Chart.yaml`) found.hasChart = true;
    if (isFile(entry) && name === `${chart}/${SCHEMA_FILE}`) found.schema = await textOf(entry);
    else entry.resume();
  }
  return found;
};

const parsed = (text: string): unknown => {
  try {
    return parseJson(text, { lengthMax: SCHEMA_BYTES_MAX, depthMax: SCHEMA_DEPTH_MAX });
  } catch (error) {
    throw new Error(`${SCHEMA_FILE} cannot be read: ${wordsOf(error)}`, { cause: error });
  }
};

/** As compact JSON, without characters that a database refuses. */
const compact = (text: string): string => {
  const schema = parsed(text.replace(/^\uFEFF/, ''));
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new Error(`${SCHEMA_FILE} is no JSON object`);
  const json = JSON.stringify(schema);
  if (json.length > SCHEMA_BYTES_MAX) throw new Error(`${SCHEMA_FILE} is larger than ${SCHEMA_BYTES_MAX} bytes`);
  return json;
};

/** The schema of the values of a chart from its archive (.tgz), in memory. null: it has none. */
export const schemaIn = async (archive: Buffer, chart: string, signal: AbortSignal): Promise<string | null> => {
  const entries = extract();
  const unpacking = pipeline(Readable.from([archive]), createGunzip(), bounded, entries, { signal });
  try {
    const [found] = await Promise.all([read(entries, chart), unpacking]);
    if (!found.hasChart) throw new Error(`it has no ${chart}/Chart.yaml`);
    return found.schema === undefined ? null : compact(found.schema);
  } catch (error) {
    signal.throwIfAborted();
    throw new CatalogueFailure('ArchiveInvalid', safe(wordsOf(error)));
  }
};
