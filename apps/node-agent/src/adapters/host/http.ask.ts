import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Ask } from '../../change/change.ports.js';

/**
 * Asks by HTTP(S) and reads nothing of the answer but its status. Certificates are not verified: the question is whether someone
 * answers there, nothing secret is sent, and what is asked may carry a certificate of its own cluster only.
 */
export const httpAsk: Ask = (url, timeoutMs) =>
  new Promise((resolve) => {
    const options = { method: 'GET', rejectUnauthorized: false, agent: false, signal: AbortSignal.timeout(timeoutMs) };
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const request = send(url, options, (response) => {
      response.resume();
      resolve({ kind: 'answered', status: response.statusCode ?? 0 });
    });
    request.on('error', (error) =>
      resolve({ kind: 'silent', message: options.signal.aborted ? `no answer within ${timeoutMs} ms` : error.message }),
    );
    request.end();
  });
