/**
 * Gates that are asked one right after the other see the same answer: each read of etcd runs four programs in one of its containers.
 * `maxAgeMs`: since the read ended; whoever looks again after a rest must find it older.
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
