import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const SSH_PORT = 22;
const TRY_TIMEOUT_MS = 1_000;
const PAUSE_MS = 40;

/** Whether an SSH server sends its greeting now. */
const greets = (address: string, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: address, port: SSH_PORT });
    const end = (answer: boolean): void => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      resolve(answer);
    };
    const abort = (): void => end(false);
    signal.addEventListener('abort', abort, { once: true });
    socket.setTimeout(TRY_TIMEOUT_MS, () => end(false));
    socket.once('data', (data) => end(data.toString('latin1').startsWith('SSH-2.0')));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
  });

/** Resolves to whether the host answers SSH before `isGone` returns true; rejects if the signal aborts. */
export const untilGreets = async (address: string, isGone: () => boolean, signal: AbortSignal): Promise<boolean> => {
  for (;;) {
    signal.throwIfAborted();
    if (await greets(address, signal)) return true;
    if (isGone()) return false;
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined); // The next round reports the reason.
  }
};
