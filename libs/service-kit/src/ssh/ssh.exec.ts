import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import type { NodeSSH } from 'node-ssh';
import type { ClientChannel } from 'ssh2';
import { interruptible } from './interruptible.js';

/** Maximum output of one command: no expected output is larger. */
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;
const STDERR_TAIL_CHARS = 2_000;

export interface ExecRequest {
  readonly command: string;
  /** Absent: no standard input. */
  readonly stdin?: string;
  readonly operation: string;
  readonly target: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface ExecOutput {
  readonly stdout: string;
  readonly stderr: string;
}

const tail = (text: string): string => text.trim().slice(-STDERR_TAIL_CHARS);

/**
 * Asks the host to kill the processes of the channel, and closes it; remaining processes lose their input and output.
 */
const kill = (channel: ClientChannel | undefined): void => {
  channel?.signal('KILL');
  channel?.close();
};

/** sudo's messages for "requires a terminal": a retry cannot help, a line in sudoers can. */
const SUDO_REFUSES =
  /^sudo: (?:a password|a terminal|no tty|sorry, you must have a tty).*|^.*is not (?:in the sudoers file|allowed to (?:run sudo|execute)).*|^.*sudo: (?:command )?not found.*/m;

const sudoRefusal = ({ command, operation, target }: ExecRequest, stderr: string): ExternalFailure | undefined => {
  const words = command.includes('sudo -n ') ? SUDO_REFUSES.exec(stderr)?.[0] : undefined;
  if (words === undefined) return undefined;
  const message = `commands need root, and sudo gives it only without a password (NOPASSWD in sudoers): ${words.trim()}`;
  return new ExternalFailure({ operation, target, message, retryable: false });
};

/**
 * Runs one command. Rejects if it fails, times out, exceeds its output limit, or the signal aborts; the command is then
 * killed.
 */
export const exec = async (ssh: NodeSSH, request: ExecRequest): Promise<ExecOutput> => {
  const { command, stdin, operation, target, timeoutMs, signal } = request;
  const failure = (message: string): ExternalFailure => new ExternalFailure({ operation, target, message });
  const late = (): ExternalFailure => failure(`it was not done after ${timeoutMs / 1000} s`);
  let channel: ClientChannel | undefined;
  try {
    const {
      code,
      stdout,
      stderr,
      signal: endedBy,
    } = await interruptible({ signal, timeoutMs, late }, (stop) => {
      let bytes = 0;
      const count = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes > OUTPUT_BYTES_MAX) stop(failure(`it printed more than ${OUTPUT_BYTES_MAX} bytes`));
      };
      const onChannel = (opened: ClientChannel): void => {
        channel = opened;
      };
      const options = { noTrim: true, onChannel, onStdout: count, onStderr: count };
      return ssh.execCommand(command, stdin === undefined ? options : { ...options, stdin });
    });
    if (code === 0) return { stdout, stderr };
    if (code === null)
      throw failure(endedBy === null ? 'the connection was lost while it ran' : `it was ended by ${endedBy}`);
    throw sudoRefusal(request, stderr) ?? failure(tail(stderr) || tail(stdout) || `it ended with exit code ${code}`);
  } catch (error) {
    kill(channel);
    // The library's message for a half-closed socket, which it keeps reporting as connected until the other side is
    // closed too.
    if (wordsOf(error) === 'Not connected') ssh.dispose();
    if (error instanceof ExternalFailure || signal.aborted) throw error;
    throw failure(wordsOf(error));
  }
};
