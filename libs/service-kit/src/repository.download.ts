import type { HttpDownload, HttpRequest } from './checked.http.js';

const TIME_LIMIT_MS = 25_000;
/** Archives are often in object storage, to which the repository redirects. */
const REDIRECTS_MAX = 3;
const OK = 200;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const WORDS_LENGTH_MAX = 300;

/** Text from a repository, or from a parser of its content, is untrusted. */
export const safeWords = (words: string): string =>
  words.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').slice(0, WORDS_LENGTH_MAX);

/** Downloads from a repository's URL if its address is public or allowed by the administrator. */
export interface RepositoryHttp {
  download(url: string, request: Omit<HttpRequest, 'body'>, signal: AbortSignal): Promise<HttpDownload>;
}

/** Why a file of a repository was not downloaded. The message is safe to show and to store. */
export class DownloadFailure extends Error {
  constructor(
    readonly isTooLarge: boolean,
    message: string,
  ) {
    super(message);
    this.name = 'DownloadFailure';
  }
}

/** Without the query, which may contain a signature. */
const wordsOfUrl = (url: string): string => {
  const { host, pathname } = new URL(url);
  return safeWords(`${host}${pathname}`);
};

const unreachable = (url: string, why: string): DownloadFailure =>
  new DownloadFailure(false, `${wordsOfUrl(url)} ${safeWords(why)}`);

const locationOf = (from: string, location: string): string => {
  const next = location !== '' && URL.canParse(location, from) ? new URL(location, from) : undefined;
  if (next?.protocol !== 'https:') throw unreachable(from, 'redirects to something else than an https URL');
  return next.href;
};

export interface RepositoryFile {
  readonly repository: string;
  /** The repository's CAs are trusted for the repository only, not for other hosts. */
  readonly ca?: string | undefined;
  readonly url: string;
  readonly bytesMax: number;
  /** Sent to the repository's host only; absent: none is sent. */
  readonly authorization?: string | undefined;
}

/** Downloads a repository's file, following redirects; each address is checked again. Rejects with DownloadFailure. */
export const downloadFrom = async (
  http: RepositoryHttp,
  { repository, ca, url, bytesMax, authorization }: RepositoryFile,
  signal: AbortSignal,
): Promise<Buffer> => {
  const { origin } = new URL(repository);
  let at = url;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const limits = { timeLimitMs: TIME_LIMIT_MS, answerBytesMax: bytesMax };
    const isOwn = new URL(at).origin === origin;
    const headers = isOwn && authorization !== undefined ? { authorization } : {};
    const vouched = isOwn ? ca : undefined;
    const answer = await http.download(at, { method: 'GET', headers, ca: vouched, ...limits }, signal);
    if (answer.kind === 'silent' && answer.isTooLarge === true)
      throw new DownloadFailure(true, `${wordsOfUrl(at)}: ${answer.why}`);
    if (answer.kind !== 'answered') throw unreachable(at, `does not answer: ${answer.why}`);
    if (answer.status === OK) return answer.bytes;
    if (!REDIRECTS.has(answer.status)) throw unreachable(at, `answers ${answer.status}`);
    at = locationOf(at, answer.location);
  }
  throw unreachable(url, `redirects more than ${REDIRECTS_MAX} times`);
};
