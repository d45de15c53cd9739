import { refuse } from '@fairlead/contracts';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { bytesText } from './disk.rules.js';

/**
 * Express middleware: an answer that is larger is refused in its place. Pages end long before; this is for lists that have none. Counted in
 * characters, which are known without another look at the text.
 */
export const boundAnswers =
  (maxBytes: number) =>
  (_request: HttpRequest, response: HttpResponse, next: () => void): void => {
    const send = response.send.bind(response);
    response.send = (body: string) => {
      if (typeof body === 'string' && body.length > maxBytes)
        throw new RefusalError(refuse('request.answer-too-large', { max: bytesText(maxBytes) }));
      return send(body);
    };
    next();
  };
