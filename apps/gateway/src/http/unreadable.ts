import { refuse, REFUSALS, type Refusal } from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import { maxHeaderSize, STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorView } from './refused.filter.js';

const BYTES_PER_KIB = 1_024;

/** undefined: the client would not understand an answer. */
const refusalOf = (error: NodeJS.ErrnoException): Refusal | undefined => {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return refuse('request.headers-too-large', { max: `${maxHeaderSize / BYTES_PER_KIB} KiB` });
  return error.code?.startsWith('HPE_') === true
    ? refuse('request.malformed', { detail: 'it is not a request of HTTP/1.1' })
    : undefined;
};

const responseTo = (refusal: Refusal): string => {
  const { status } = REFUSALS[refusal.code];
  const body = JSON.stringify(errorView([refusal], randomUUID()));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
};

const TIMEOUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n';

/** Answers what the HTTP parser of Node.js refuses with the error that all routes have, and closes the connection. */
export const answerUnreadable = (server: Server): void => {
  const responses = new WeakMap<object, ServerResponse>();
  server.on('request', ({ socket }, response) => responses.set(socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = refusalOf(error);
    const last = responses.get(socket);
    // What is read ahead must not answer the request before it.
    const isAnswering = last !== undefined && !last.writableFinished;
    if (isAnswering || !socket.writable) socket.destroy();
    else if (refusal !== undefined) socket.end(responseTo(refusal));
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.end(TIMEOUT);
    else socket.destroy();
  });
};
