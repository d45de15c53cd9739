import { ApplicationVersion, CHART_VERSION_LENGTH_MAX, ChartDigest, wordsOf } from '@fairlead/contracts';
import { parse } from 'yaml';
import * as z from 'zod';
import { CatalogueFailure, type IndexedVersion } from '../../catalogue/catalogue.ports.js';
import { INDEXED_MAX, PARSED_LENGTH_MAX, safe } from './helm.limits.js';

/** What is used of an entry; it has much more. */
const Entry = z.object({
  version: ApplicationVersion.shape.version,
  appVersion: z.union([z.string(), z.number()]).nullish().catch(undefined),
  digest: ChartDigest.optional().catch(undefined),
  deprecated: z.boolean().nullish().catch(undefined),
  urls: z.tuple([z.string().min(1).max(2_048)], z.unknown()),
});

const Index = z.object({ entries: z.record(z.string(), z.unknown()).nullable() });

const ENTRIES = 'entries:';

const isOfChart = (line: string): boolean => /^( {3}|  - |  -$| *#)/.test(line) || line.trim() === '';

/**
 * The part of an index that is about one chart, as Helm writes it: block style, indented by two spaces. In valid YAML a line of this indentation below
 * `entries` can be nothing but a key. undefined: it is written in another way, or the chart is not there.
 */
export const partOf = (text: string, chart: string): string | undefined => {
  const lines = text.split('\n');
  const entries = lines.findIndex((line) => line.trimEnd() === ENTRIES);
  if (entries < 0) return undefined;
  const keys = new Set([`  ${chart}:`, `  "${chart}":`, `  '${chart}':`]);
  const first = lines.findIndex((line, index) => index > entries && keys.has(line.trimEnd()));
  if (first < 0) return undefined;
  const after = lines.findIndex((line, index) => index > first && !isOfChart(line));
  return [ENTRIES, ...lines.slice(first, after < 0 ? undefined : after)].join('\n');
};

const invalid = (words: string): CatalogueFailure => new CatalogueFailure('IndexInvalid', words);

/** No aliases: a few lines of them can stand for gigabytes. */
const parsed = (text: string, chart: string): unknown => {
  const part = partOf(text, chart) ?? text;
  if (part.length > PARSED_LENGTH_MAX)
    throw invalid(`the index has more about ${chart} than ${PARSED_LENGTH_MAX} characters`);
  try {
    return parse(part, { maxAliasCount: 0, logLevel: 'error' });
  } catch (error) {
    throw invalid(`the index is no YAML: ${safe(wordsOf(error))}`);
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

/** The versions of a chart by the index of a repository. Single entries that are none are left out, as Helm does. */
export const versionsIn = (text: string, chart: string, base: string): readonly IndexedVersion[] => {
  const index = Index.safeParse(parsed(text, chart));
  if (!index.success) throw invalid('the index has no entries');
  const { entries } = index.data;
  const found = entries && Object.hasOwn(entries, chart) ? entries[chart] : [];
  if (!Array.isArray(found)) throw invalid(`the index has something else than a list of versions of ${chart}`);
  return found.slice(0, INDEXED_MAX).flatMap((value: unknown) => indexedOf(value, base));
};
