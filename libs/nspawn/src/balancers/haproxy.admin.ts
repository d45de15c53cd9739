import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';

const ANSWER_TIMEOUT_MS = 1_000;
const ANSWER_MAX = 100_000;

/** The response of a running haproxy to a command on its socket; undefined: no complete response. */
export const askHaproxy = (folder: string, socketName: string, command: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    // Through the open folder: a socket's whole path may exceed the kernel's limit of 107 bytes.
    const at = openSync(folder, 'r');
    const socket = connect(`/proc/self/fd/${at}/${socketName}`);
    let answer = '';
    const end = (whole?: string): void => {
      if (!socket.destroyed) closeSync(at);
      socket.destroy();
      resolve(whole);
    };
    socket.setEncoding('utf8').setTimeout(ANSWER_TIMEOUT_MS, () => end());
    socket.once('connect', () => socket.write(`${command}\n`));
    socket.on('data', (text: string) => {
      answer += text;
      if (answer.length > ANSWER_MAX) end();
    });
    socket.once('error', () => end());
    socket.once('end', () => end(answer));
  });
