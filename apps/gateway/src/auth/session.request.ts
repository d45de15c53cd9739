import { TLSSocket } from 'node:tls';
import type { HttpRequest } from '../http/http.types.js';
import type { Asking } from './session.rules.js';

/** What sessions use of a request. */
export const askingOf = ({ method, headers, socket }: HttpRequest): Asking => ({
  method,
  headers,
  isEncrypted: socket instanceof TLSSocket,
  port: socket.localPort ?? 0,
});
