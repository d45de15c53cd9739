import type { ServerResponse } from 'node:http';
import { stringify as stringifyYaml } from 'yaml';
import type { ApiError, Status } from '../errors/api.error.js';

export const sendJson = (
  response: ServerResponse,
  code: number,
  value: unknown,
  encoding: 'json' | 'yaml' = 'json',
): void => {
  const text = encoding === 'yaml' ? stringifyYaml(value) : JSON.stringify(value);
  response.writeHead(code, {
    'content-type': encoding === 'yaml' ? 'application/yaml' : 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
};

export const sendText = (response: ServerResponse, code: number, text: string): void => {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text) });
  response.end(text);
};

export const sendError = (response: ServerResponse, error: ApiError): void => {
  const { retryAfterSeconds } = error.status.details ?? {};
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds));
  sendJson(response, error.status.code, error.status);
};

export const success = (details: NonNullable<Status['details']>): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details,
  code: 200,
});
