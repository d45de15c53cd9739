import { refuse } from '@fairlead/contracts';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { headerText, type HttpRequest, type HttpResponse } from './http.types.js';
import { RefusalError } from './refusal.error.js';
import { bodyFault } from './text.js';

/** Largest body: a secret of a connection is the largest thing in one. */
export const BODY_LIMIT = '256kb';

const PATCH_TYPE = 'application/merge-patch+json';
const JSON_UTF8 = /^application\/json[ \t]*(;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
const PATCH_UTF8 = /^application\/merge-patch\+json[ \t]*(;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;

/** A patch may say that it is one (RFC 7386). */
const isRead = (type: string, method: string): boolean =>
  JSON_UTF8.test(type) || (method === 'PATCH' && PATCH_UTF8.test(type));

const hasBody = ({ headers }: HttpRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** A body of another type is refused before it is read, so that it is never taken for no body at all. */
const checkMediaType = (request: HttpRequest, _response: HttpResponse, next: () => void): void => {
  const type = headerText(request.headers['content-type']) ?? '';
  if (hasBody(request) && !isRead(type, request.method))
    throw new RefusalError(refuse('request.media-type', { type: type === '' ? 'of no type' : type }));
  next();
};

const checkUtf8 = (_request: IncomingMessage, _response: ServerResponse, bytes: Buffer): void => {
  if (!isUtf8(bytes)) throw new RefusalError(refuse('request.malformed', { detail: 'The body is not UTF-8' }));
};

const checkText = ({ body }: HttpRequest, _response: HttpResponse, next: () => void): void => {
  const fault = bodyFault(body);
  if (fault !== undefined) throw new RefusalError(fault);
  next();
};

/** Reads bodies: JSON in UTF-8 that can be stored, and nothing else. */
export const readBodies = (app: NestExpressApplication): void => {
  app.use(checkMediaType);
  app.useBodyParser('json', { limit: BODY_LIMIT, verify: checkUtf8, type: ['application/json', PATCH_TYPE] });
  app.use(checkText);
};
