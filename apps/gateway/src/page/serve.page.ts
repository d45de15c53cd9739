import { errorCodeOf } from '@fairlead/contracts';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { headerText, type HttpRequest, type HttpResponse } from '../http/http.types.js';
import { assetHeaders, documentHeaders, encodingOf, missingPage, newNonce } from './page.headers.js';

const ASSETS = '/assets/';
/** Stands in the built document where each answer has its own. */
const NONCE = '__NONCE__';

/** The page as it was built: its document, and its files by name. */
interface BuiltPage {
  readonly builtAtMs: number;
  readonly document: string;
  readonly files: ReadonlySet<string>;
}

const readPage = async (folder: string, before: BuiltPage | undefined): Promise<BuiltPage | undefined> => {
  const index = join(folder, 'index.html');
  const found = await stat(index).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined || found.mtimeMs === before?.builtAtMs) return found && before;
  const [document, names] = await Promise.all([readFile(index, 'utf8'), readdir(join(folder, 'assets'))]);
  return { builtAtMs: found.mtimeMs, document, files: new Set(names) };
};

const write = (response: HttpResponse, status: number, headers: Readonly<Record<string, string>>): void => {
  response.status(status);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
};

/**
 * Serves the operator's page at /, and its files below /assets. It is one document: the place within it stands in the fragment of its
 * address, so it works behind a proxy that adds a prefix. A build while the gateway runs is served from the next request on.
 */
export const servePage = (app: NestExpressApplication, folder: string | undefined): void => {
  let page: BuiltPage | undefined;
  const document = async (response: HttpResponse): Promise<void> => {
    page = folder === undefined ? undefined : await readPage(folder, page);
    const nonce = newNonce(randomBytes(32));
    write(response, 200, documentHeaders(nonce));
    response.end(page === undefined ? missingPage(folder !== undefined) : page.document.replaceAll(NONCE, nonce));
  };
  const asset = async (request: HttpRequest, response: HttpResponse, next: () => void): Promise<void> => {
    const name = request.path.slice(ASSETS.length);
    if (folder === undefined) return next();
    page ??= await readPage(folder, page);
    const { files = new Set<string>() } = page ?? {};
    if (!files.has(name)) return next();
    const accepted = headerText(request.headers['accept-encoding']) ?? '';
    const encoding = encodingOf(accepted, (suffix) => files.has(`${name}${suffix}`));
    const bytes = await readFile(join(folder, 'assets', `${name}${encoding?.[1] ?? ''}`));
    write(response, 200, assetHeaders(name));
    if (encoding !== undefined) response.setHeader('Content-Encoding', encoding[0]);
    response.setHeader('Content-Length', bytes.length);
    response.end(request.method === 'HEAD' ? undefined : bytes);
  };
  app.use(async (request: HttpRequest, response: HttpResponse, next: () => void): Promise<void> => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && request.path === '/') return document(response);
    if (isRead && request.path.startsWith(ASSETS)) return asset(request, response, next);
    next();
  });
};
