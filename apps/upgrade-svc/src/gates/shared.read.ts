/**
 * Gates that are evaluated in succession share a result, because each read of etcd runs four programs in one of its
 * containers. `maxAgeMs` counts from the end of the read; it must be shorter than the wait before a gate is evaluated
 * again.
 */
export const sharedRead = <T>(read: () => Promise<T>, maxAgeMs: number, nowMs: () => number): (() => Promise<T>) => {
  let last: { readonly answer: T; readonly endedMs: number } | undefined;
  return async () => {
    if (last !== undefined && nowMs() - last.endedMs < maxAgeMs) return last.answer;
    const answer = await read();
    last = { answer, endedMs: nowMs() };
    return answer;
  };
};
