import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { reachable } from './api.js';

export const useReachability = () => useSyncExternalStore(reachable.subscribe, reachable.current);

const SETTLE_MS = 400;
/** Events that the page is told of by name would be all types; the browser gives unnamed ones only to `message`. */
const STREAM_RETRY_MS = 2_000;

/**
 * Refreshes the queries whose key begins with `scope` when events arrive, at most a few times a second. The browser connects again after a
 * break and names the last event that it had; a stream that the gateway refuses is tried again by us.
 */
export const useEvents = (path: string | undefined, after: number | undefined, scope: string): void => {
  const queries = useQueryClient();
  const isReady = after !== undefined;
  useEffect(() => {
    if (path === undefined || !isReady) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = after;
    let stream: AbortController | undefined;
    let isOver = false;
    const refresh = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: [scope] });
      }, SETTLE_MS);
    };
    const run = async (): Promise<void> => {
      while (!isOver) {
        stream = new AbortController();
        try {
          for await (const id of eventIds(`${path}?after=${last}`, stream.signal)) {
            last = Math.max(last, id);
            refresh();
          }
        } catch {
          refresh(); // The refresh finds out whether the gateway answers.
        }
        if (!isOver) await new Promise((resolve) => setTimeout(resolve, STREAM_RETRY_MS));
      }
    };
    void run();
    return () => {
      isOver = true;
      stream?.abort();
      clearTimeout(timer);
    };
  }, [path, isReady, scope, queries]); // `after` only begins it.
};

/** The ids of a stream of server-sent events. Their data is read from the API, in one place. */
async function* eventIds(url: string, signal: AbortSignal): AsyncGenerator<number> {
  const response = await fetch(new URL(url, document.baseURI), { signal });
  if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = (lines.pop() ?? '').slice(0, 64); // Ids stand at the beginning of lines; the rest of a long line is not needed.
    for (const line of lines) {
      const id = /^id: (\d+)/.exec(line)?.[1];
      if (id !== undefined) yield Number(id);
    }
  }
}
