import { deadlineAfter } from '@fairlead/service-kit';
import { once } from 'node:events';
import type { HttpResponse } from './http.types.js';

const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for so long is cut off. */
const STALLED_MS = 30_000;
/** How long a reader must wait before it connects again. */
const RETRY_MS = 1_000;

/** The head of a stream. */
export const beginStream = (response: HttpResponse): void => {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    Connection: 'keep-alive',
    // Proxies that buffer would hold events back.
    'X-Accel-Buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
};

/** Comments that show both ends that the other one is there. */
export const keepAlive = (response: HttpResponse): { readonly stop: () => void } => {
  const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS);
  return { stop: () => clearInterval(heartbeat) };
};

/** Waits until there is room for more. False when the reader has gone, or takes nothing any more. */
export const deliver = async (response: HttpResponse, text: string, signal: AbortSignal): Promise<boolean> => {
  if (response.write(text)) return true;
  const stalled = deadlineAfter(STALLED_MS);
  const patience = AbortSignal.any([signal, stalled.signal]);
  return once(response, 'drain', { signal: patience })
    .then(
      () => true,
      () => false,
    )
    .finally(stalled.clear);
};
