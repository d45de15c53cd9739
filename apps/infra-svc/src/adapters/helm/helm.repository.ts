import type { ApplicationProblem } from '@fairlead/contracts';
import type { HttpDownload, HttpRequest } from '@fairlead/service-kit/http';
import { createHash } from 'node:crypto';
import {
  CatalogueFailure,
  type ChartRepository,
  type IndexedVersion,
  type RepositoryAccess,
} from '../../catalogue/catalogue.ports.js';
import { schemaIn } from './helm.archive.js';
import { versionsIn } from './helm.index.js';
import { ARCHIVE_BYTES_MAX, INDEX_BYTES_MAX, safe } from './helm.limits.js';

const TIME_LIMIT_MS = 25_000;
/** Archives are often at a store of files, to which the repository refers. */
const REDIRECTS_MAX = 3;
const OK = 200;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

interface File {
  readonly url: string;
  readonly bytesMax: number;
  readonly tooLarge: ApplicationProblem;
}

const INDEX: Omit<File, 'url'> = { bytesMax: INDEX_BYTES_MAX, tooLarge: 'IndexInvalid' };
const ARCHIVE: Omit<File, 'url'> = { bytesMax: ARCHIVE_BYTES_MAX, tooLarge: 'ArchiveInvalid' };

/** Asks a URL of a repository, if its address is public or allowed by the administrator. */
export interface RepositoryHttp {
  download(url: string, request: Omit<HttpRequest, 'body'>, signal: AbortSignal): Promise<HttpDownload>;
}

/** Without the query: it may hold a signature. */
const wordsOfUrl = (url: string): string => {
  const { host, pathname } = new URL(url);
  return safe(`${host}${pathname}`);
};

const unreachable = (url: string, why: string): CatalogueFailure =>
  new CatalogueFailure('RepositoryUnreachable', `${wordsOfUrl(url)} ${safe(why)}`);

/** A chart repository as Helm defines it: index.yaml, and archives that it names, over HTTPS. */
export class HelmRepository implements ChartRepository {
  constructor(private readonly http: RepositoryHttp) {}

  async versions(access: RepositoryAccess, signal: AbortSignal): Promise<readonly IndexedVersion[]> {
    const base = `${access.repository.replace(/\/+$/, '')}/`;
    const bytes = await this.download(access, { url: `${base}index.yaml`, ...INDEX }, signal);
    return versionsIn(bytes, { repository: base, chart: access.chart }, signal);
  }

  async schema(access: RepositoryAccess, indexed: IndexedVersion, signal: AbortSignal): Promise<string | null> {
    const { version, digest, url } = indexed;
    const bytes = await this.download(access, { url, ...ARCHIVE }, signal);
    const actual = createHash('sha256').update(bytes).digest('hex');
    if (actual !== digest)
      throw new CatalogueFailure(
        'DigestMismatch',
        `the archive of version ${version} has the SHA-256 ${actual}, and the index says ${digest ?? 'nothing'}`,
      );
    try {
      return await schemaIn(bytes, access.chart, signal);
    } catch (error) {
      if (!(error instanceof CatalogueFailure)) throw error;
      throw new CatalogueFailure(error.reason, `the archive of version ${version}: ${error.message}`);
    }
  }

  /** Wherever it is: each address is checked again. */
  private async download(
    access: RepositoryAccess,
    { url, bytesMax, tooLarge }: File,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const { origin } = new URL(access.repository);
    let at = url;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      // Its own authorities vouch for the repository, and not for other hosts.
      const ca = new URL(at).origin === origin ? access.ca : undefined;
      const limits = { timeLimitMs: TIME_LIMIT_MS, answerBytesMax: bytesMax };
      const answer = await this.http.download(at, { method: 'GET', headers: {}, ca, ...limits }, signal);
      if (answer.kind === 'silent' && answer.isTooLarge === true)
        throw new CatalogueFailure(tooLarge, `${wordsOfUrl(at)}: ${answer.why}`);
      if (answer.kind !== 'answered') throw unreachable(at, `does not answer: ${answer.why}`);
      if (answer.status === OK) return answer.bytes;
      if (!REDIRECTS.has(answer.status)) throw unreachable(at, `answers ${answer.status}`);
      at = locationOf(at, answer.location);
    }
    throw unreachable(url, `redirects more than ${REDIRECTS_MAX} times`);
  }
}

const locationOf = (from: string, location: string): string => {
  const next = location !== '' && URL.canParse(location, from) ? new URL(location, from) : undefined;
  if (next?.protocol !== 'https:') throw unreachable(from, 'redirects to something else than an https URL');
  return next.href;
};
