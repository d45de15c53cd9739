import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Ask } from '../../change/change.ports.js';

/**
 * Sends an HTTP(S) request and reads only the response status. Certificates are not verified, because the probe only
 * checks whether a server responds, sends no secrets, and may reach a server whose certificate is private to its
 * cluster.
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
