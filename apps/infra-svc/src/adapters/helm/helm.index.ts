import { ApplicationVersion, CHART_VERSION_LENGTH_MAX, ChartDigest, wordsOf } from '@fairlead/contracts';
import { setImmediate } from 'node:timers/promises';
import { parse } from 'yaml';
import * as z from 'zod';
import { CatalogueFailure, type IndexedVersion } from '../../catalogue/catalogue.ports.js';
import { INDEXED_MAX, ITEM_LENGTH_MAX, PARSED_LENGTH_MAX, safe } from './helm.limits.js';

/** What is used of an entry; it has much more. */
const Entry = z.object({
  version: ApplicationVersion.shape.version,
  appVersion: z.union([z.string(), z.number()]).nullish().catch(undefined),
  digest: ChartDigest.optional().catch(undefined),
  deprecated: z.boolean().nullish().catch(undefined),
  urls: z.tuple([z.string().min(1).max(2_048)], z.unknown()),
});

const Index = z.object({ entries: z.record(z.string(), z.unknown()).nullable() });

const invalid = (words: string): CatalogueFailure => new CatalogueFailure('IndexInvalid', words);

/** No aliases: a few lines of them can stand for gigabytes. */
const parsed = (yaml: string): unknown => {
  try {
    return parse(yaml, { maxAliasCount: 0, logLevel: 'error' });
  } catch (error) {
    throw invalid(`the index is no YAML: ${safe(wordsOf(error))}`);
  }
};

const ENTRIES = 'entries:';
const KEY = /^ {2}["']?[\w.-]+["']?:\s*$/;
const ITEM = /^ {2}-(\s|$)/;
const COMMENT_OR_BLANK = /^\s*(#|$)/;
const BELOW_KEY = /^( {3}| {2}-\s| {2}-$|\s*(#|$))/;

/**
 * The lines of an index that are about one chart, as Helm writes them: block style, indented by two spaces. In valid YAML, a line of this
 * indentation below `entries` can be nothing but a key. undefined: the index is written in another way.
 */
const linesOf = (text: string, chart: string): readonly string[] | undefined => {
  const lines = text.split('\n');
  const entries = lines.findIndex((line) => line.trimEnd() === ENTRIES);
  if (entries < 0) return undefined;
  const keys = new Set([`  ${chart}:`, `  "${chart}":`, `  '${chart}':`]);
  const key = lines.findIndex((line, index) => index > entries && keys.has(line.trimEnd()));
  if (key < 0) return lines.some((line, index) => index > entries && KEY.test(line)) ? [] : undefined;
  const after = lines.findIndex((line, index) => index > key && !BELOW_KEY.test(line));
  return lines.slice(key + 1, after < 0 ? undefined : after);
};

const notAList = (chart: string): CatalogueFailure =>
  invalid(`the index has something else than a list of versions of ${chart}`);

/** Each item of a list, still as YAML. */
const itemsOf = (lines: readonly string[], chart: string): readonly string[] => {
  const starts = lines.flatMap((line, at) => (ITEM.test(line) ? [at] : []));
  if (lines.slice(0, starts[0]).some((line) => !COMMENT_OR_BLANK.test(line))) throw notAList(chart);
  return starts.map((start, at) => lines.slice(start, starts[at + 1]).join('\n'));
};

/** Item by item: YAML takes a third of a second per MiB, and an index may have several MiB about one chart. */
const parsedInTurn = async (lines: readonly string[], chart: string): Promise<readonly unknown[]> => {
  const items = itemsOf(lines, chart);
  if (items.length > INDEXED_MAX) throw invalid(`the index has more than ${INDEXED_MAX} versions of ${chart}`);
  const values: unknown[] = [];
  let unbroken = 0;
  for (const item of items) {
    if (item.length > ITEM_LENGTH_MAX)
      throw invalid(`the index has more than ${ITEM_LENGTH_MAX} characters about one version of ${chart}`);
    unbroken += item.length;
    if (unbroken > ITEM_LENGTH_MAX) {
      await setImmediate();
      unbroken = item.length;
    }
    const value = parsed(item);
    if (Array.isArray(value)) values.push(...(value as readonly unknown[]));
  }
  return values;
};

const parsedWhole = (text: string, chart: string): readonly unknown[] => {
  if (text.length > PARSED_LENGTH_MAX)
    throw invalid(`the index is not written as Helm does it, and has more than ${PARSED_LENGTH_MAX} characters`);
  const index = Index.safeParse(parsed(text));
  if (!index.success) throw invalid('the index has no entries');
  const { entries } = index.data;
  const found = entries && Object.hasOwn(entries, chart) ? entries[chart] : [];
  if (!Array.isArray(found)) throw notAList(chart);
  return found as readonly unknown[];
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
export const versionsIn = async (text: string, chart: string, base: string): Promise<readonly IndexedVersion[]> => {
  const lines = linesOf(text, chart);
  const values = lines === undefined ? parsedWhole(text, chart) : await parsedInTurn(lines, chart);
  return values.slice(0, INDEXED_MAX).flatMap((value) => indexedOf(value, base));
};
