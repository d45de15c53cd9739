import { randomUUID } from 'node:crypto';
import type { HttpRequest, HttpResponse } from './http.types.js';

/** What a caller may call its request, so that it can find it again in events and logs. */
const ACCEPTABLE = /^[A-Za-z0-9._:-]{1,100}$/;

/** Every request has an id: the caller's own, or a new one. It is the correlation id of what follows from the request. */
export const nameRequest = (request: HttpRequest, response: HttpResponse, next: () => void): void => {
  const given = request.headers['x-request-id'];
  request.requestId = typeof given === 'string' && ACCEPTABLE.test(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', request.requestId);
  next();
};
