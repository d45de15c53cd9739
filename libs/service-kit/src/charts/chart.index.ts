import { ApplicationVersion, CHART_VERSION_LENGTH_MAX, ChartDigest } from '@fairlead/contracts';
import { ParseFailure } from '@fairlead/parsers';
import { parseInWorker, type LargeText } from '@fairlead/parsers/worker';
import pLimit from 'p-limit';
import * as z from 'zod';
import { safeWords as safe } from '../repository.download.js';
import { INDEX_BYTES_MAX, INDEX_VALUES_MAX, INDEX_WORKER, INDEXED_LENGTH_MAX, INDEXED_MAX } from './chart.limits.js';
import { ChartFailure, type ChartAt, type IndexedVersion } from './charts.ports.js';

/** The fields of an entry that Fairlead reads; it has many more. */
const Entry = z.object({
  version: ApplicationVersion.shape.version,
  appVersion: z.union([z.string(), z.number()]).nullish().catch(undefined),
  digest: ChartDigest.optional().catch(undefined),
  deprecated: z.boolean().nullish().catch(undefined),
  urls: z.tuple([z.string().min(1).max(2_048)], z.unknown()),
});

const invalid = (words: string): ChartFailure => new ChartFailure('IndexInvalid', words);

/** The thread that parses the index returns only these fields. */
const FIELDS = Object.keys(Entry.shape);

const textOf = (bytes: Uint8Array, chart: string): LargeText => ({
  format: 'yaml',
  bytes,
  limits: { lengthMax: INDEX_BYTES_MAX, valuesMax: INDEX_VALUES_MAX },
  selection: { path: ['entries', chart], fields: FIELDS, itemsMax: INDEXED_MAX + 1 },
  resultLengthMax: INDEXED_LENGTH_MAX,
});

/** One index at a time: each takes memory and a CPU. */
const inTurn = pLimit(1);

const entriesIn = async (bytes: Uint8Array, chart: string, signal: AbortSignal): Promise<unknown> => {
  try {
    return await inTurn(() => parseInWorker(textOf(bytes, chart), { ...INDEX_WORKER, signal }));
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    throw invalid(`the index cannot be read: ${safe(error.message)}`);
  }
};

const absolute = (url: string, base: string): string | undefined => {
  if (!URL.canParse(url, base)) return undefined;
  const { protocol, href } = new URL(url, base);
  return protocol === 'https:' ? href : undefined;
};

const indexedOf = (value: unknown, base: string): readonly IndexedVersion[] => {
  const entry = Entry.safeParse(value);
  if (!entry.success) return [];
  const { version, appVersion, digest, deprecated, urls } = entry.data;
  const url = absolute(urls[0], base);
  if (url === undefined) return [];
  const words = safe(String(appVersion ?? '')).slice(0, CHART_VERSION_LENGTH_MAX);
  return [{ version, appVersion: words, digest, deprecated: deprecated === true, url }];
};

/**
 * The versions of a chart from the index of a repository, parsed in a worker thread. Invalid entries are skipped, as in
 * Helm.
 */
export const versionsIn = async (
  bytes: Uint8Array,
  { repository, chart }: Pick<ChartAt, 'repository' | 'chart'>,
  signal: AbortSignal,
): Promise<readonly IndexedVersion[]> => {
  const found = (await entriesIn(bytes, chart, signal)) ?? [];
  if (!Array.isArray(found)) throw invalid(`the index has something else than a list of versions of ${chart}`);
  if (found.length > INDEXED_MAX) throw invalid(`the index has more than ${INDEXED_MAX} versions of ${chart}`);
  return (found as readonly unknown[]).flatMap((value) => indexedOf(value, repository));
};
