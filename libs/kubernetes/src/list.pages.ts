import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import * as z from 'zod';
import type { ClusterBudget } from './cluster.budget.js';
import { AnswerTooLarge } from './http.requests.js';
import { DenseJson, refuseDenseJson } from './json.bounds.js';
import { ObjectMetadata, type Listed } from './plain.object.js';

const MEBIBYTE = 1024 * 1024;
/** One response: parsing it blocks the event loop for a tenth of a second. */
export const PAGE_BYTES_MAX = 8 * MEBIBYTE;
const LIMIT_FIRST = 500;
/** Divisor of the limit when a page that was too large is requested again. */
const LIMIT_SHRINKS_BY = 4;
/** A smaller page is followed by one with twice as many objects. */
const PAGE_BYTES_SMALL = PAGE_BYTES_MAX / 8;
const LIST_MS_MAX = 60_000;
/** More objects of one kind than the maximum of pods in a cluster (150,000). */
const ITEMS_MAX = 200_000;
const PAGES_MAX = 1_000;
const CONTINUE_LENGTH_MAX = 8 * 1024;
/** Maximum kept of one list: about 120,000 pods. */
const KEPT_BYTES_MAX = 64 * MEBIBYTE;
const VALUE_BYTES = 8;
/** Maximum concurrent lists of more than one page, over all clusters, because each may keep that much. */
const LONG_LISTS_MAX = 8;

/** A list request. */
export interface ListRequest {
  /** For people: `list pods`. */
  readonly operation: string;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The server returns only metadata (PartialObjectMetadata). */
  readonly metadataOnly?: true;
}

/** Why a list could not be read. */
export class ListFailure extends Error {}

const Page = z.object({
  metadata: z.object({ continue: z.string().optional() }).optional(),
  items: z.array(z.unknown()).nullable(),
});

/** The part of the client that the pages of a list need. */
export interface PageSource {
  readonly budget: ClusterBudget;
  /** The body of a list, of at most PAGE_BYTES_MAX; rejects with AnswerTooLarge. */
  page(path: string, accept: string): Promise<Buffer>;
}

const JSON_TYPE = 'application/json';
const METADATA_TYPE = `${JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;

const longLists = pLimit(LONG_LISTS_MAX);

/** Approximate memory of a view; views are flat. */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return VALUE_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  for (const key in value) bytes += VALUE_BYTES + sizeOf((value as Readonly<Record<string, unknown>>)[key]);
  return bytes;
};

/** A list while its pages arrive. */
class PagedList<T, View extends object> {
  private readonly views: View[] = [];
  private limit = LIMIT_FIRST;
  private next = '';
  private items = 0;
  private kept = 0;

  constructor(
    private readonly source: PageSource,
    private readonly request: ListRequest,
    private readonly view: (item: Listed<T>) => View | undefined,
  ) {}

  async read(): Promise<readonly View[]> {
    await this.readPage();
    if (this.next !== '') await longLists(() => this.readRest());
    return this.views;
  }

  private async readRest(): Promise<void> {
    const startedAtMs = performance.now();
    for (let pages = 1; this.next !== ''; pages += 1) {
      if (pages >= PAGES_MAX) throw new ListFailure(`it answered with more than ${PAGES_MAX} pages`);
      if (performance.now() - startedAtMs > LIST_MS_MAX)
        throw new ListFailure(`the list did not end within ${LIST_MS_MAX / 1_000} s`);
      await this.readPage();
      // A response may already be buffered: without this, the pages of one cluster would block the event loop as one.
      await setImmediate();
    }
  }

  private async readPage(): Promise<void> {
    const { budget } = this.source;
    for (;;) {
      const exhausted = budget.exhausted();
      if (exhausted !== undefined) throw new ListFailure(exhausted);
      try {
        const body = await this.source.page(this.path(), this.request.metadataOnly ? METADATA_TYPE : JSON_TYPE);
        budget.spend({ bytes: body.length });
        budget.work(() => this.add(body));
        if (body.length < PAGE_BYTES_SMALL) this.limit = Math.min(LIMIT_FIRST, this.limit * 2);
        return;
      } catch (error) {
        if (!(error instanceof AnswerTooLarge || error instanceof DenseJson)) throw error;
        budget.spend({ bytes: PAGE_BYTES_MAX });
        if (this.limit === 1) throw new ListFailure(`${error.message}, even for one object at a time`);
        this.limit = Math.ceil(this.limit / LIMIT_SHRINKS_BY);
      }
    }
  }

  private path(): string {
    const { path, labelSelector, fieldSelector } = this.request;
    const query = new URLSearchParams({
      limit: String(this.limit),
      ...(this.next === '' ? {} : { continue: this.next }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    });
    return `${path}?${query}`;
  }

  private add(body: Buffer): void {
    refuseDenseJson(body);
    const page = Page.safeParse(parsed(body));
    if (!page.success) throw new ListFailure('it answered with something that is no list');
    const items = page.data.items ?? [];
    if (items.length > this.limit)
      throw new ListFailure(`it answered with ${items.length} objects where ${this.limit} were requested`);
    for (const item of items) this.addItem(item);
    this.next = page.data.metadata?.continue ?? '';
    if (this.next.length > CONTINUE_LENGTH_MAX)
      throw new ListFailure(`it answered with a continue token of more than ${CONTINUE_LENGTH_MAX} characters`);
  }

  private addItem(item: unknown): void {
    this.items += 1;
    if (this.items > ITEMS_MAX) throw new ListFailure(`there are more than ${ITEMS_MAX} of them`);
    const view = viewOf(item, this.view);
    if (view === undefined) return;
    this.kept += sizeOf(view);
    if (this.kept > KEPT_BYTES_MAX)
      throw new ListFailure(`what is used of them is more than ${KEPT_BYTES_MAX / MEBIBYTE} MiB`);
    this.views.push(view);
  }
}

const Item = z.looseObject({ metadata: ObjectMetadata });

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw new ListFailure('it answered with something that is no JSON');
  }
};

/** The view of an object whose metadata alone are validated; throws if the rest does not fit the view. */
export const viewOf = <T, View>(item: unknown, view: (item: Listed<T>) => View): View => {
  const { data } = Item.safeParse(item);
  if (data === undefined) throw new ListFailure('it answered with an object that has no valid metadata');
  try {
    return view(data as unknown as Listed<T>);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ListFailure(`it answered with an object that is not as Kubernetes writes it: ${error.message}`);
  }
};

/**
 * All objects of a kind, page by page, as views; objects whose view is undefined are omitted. Rejects with ListFailure.
 */
export const listPages = <T, View extends object>(
  source: PageSource,
  request: ListRequest,
  view: (item: Listed<T>) => View | undefined,
): Promise<readonly View[]> => new PagedList(source, request, view).read();
