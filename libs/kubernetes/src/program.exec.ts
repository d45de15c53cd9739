import { Exec, type KubeConfig, type V1Status } from '@kubernetes/client-node';
import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';

/** A program to run in a running container. */
export interface ExecTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
  readonly signal: AbortSignal;
  /**
   * Receives its standard output in chunks, the next one after the promise resolves; absent: the result has up to one
   * megabyte of it.
   */
  readonly onOutput?: (chunk: Buffer) => void | Promise<void>;
}

export interface ExecResult {
  /** null: the program could not be started; `stderr` has the runtime's message. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const KEPT_BYTES_MAX = 1024 * 1024;
/** Maximum buffered for a slow receiver before the connection is paused. */
const WAITING_BYTES_MAX = 1024 * 1024;

type Take = (chunk: Buffer) => void | Promise<void>;

const outlet = (take: Take): Writable =>
  new Writable({
    highWaterMark: WAITING_BYTES_MAX,
    write: (chunk: Buffer, _encoding, done) => {
      Promise.resolve(take(chunk)).then(
        () => done(),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
    },
  });

const keeping = (chunks: Buffer[]): Take => {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes <= KEPT_BYTES_MAX) chunks.push(chunk);
  };
};

const exitCodeOf = (status: V1Status): number | null => {
  if (status.status === 'Success') return 0;
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  return cause?.message === undefined ? null : Number(cause.message);
};

type Channel = Awaited<ReturnType<Exec['exec']>>;

/** Node's WebSocket can be paused; the library's type is the browsers' one. */
const holdBack = (channel: Channel, out: Writable): void => {
  const socket = channel as Channel & { readonly pause?: () => void; readonly resume?: () => void };
  out.on('drain', () => socket.resume?.());
  const listen = socket.onmessage;
  socket.onmessage = (event) => {
    listen?.call(socket, event);
    if (out.writableNeedDrain) socket.pause?.();
  };
};

const closed = (channel: Channel, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end);
      channel.close();
      resolve();
    };
    signal.addEventListener('abort', end);
    channel.onclose = end;
    channel.onerror = end;
    if (signal.aborted || channel.readyState === channel.CLOSED) end();
  });

/** Runs a program in a container and waits for its end. */
export const runProgram = async (config: KubeConfig, target: ExecTarget): Promise<ExecResult> => {
  const { namespace, pod, container, command, signal, onOutput } = target;
  signal.throwIfAborted();
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  const out = outlet(onOutput ?? keeping(stdout));
  const err = outlet(keeping(stderr));
  const taken = Promise.all([finished(out), finished(err)]);
  // Awaited below, unless something fails earlier.
  taken.catch(() => undefined);
  let reported: V1Status | undefined;
  const onStatus = (status: V1Status): void => {
    reported = status;
  };
  const exec = new Exec(config);
  const channel = await exec.exec(namespace, pod, container, [...command], out, err, null, false, onStatus);
  holdBack(channel, out);
  out.on('error', () => channel.close());
  await closed(channel, signal);
  signal.throwIfAborted();
  const status = reported as V1Status | undefined;
  if (status === undefined && out.errored === null) throw new Error('the connection ended before the program did');
  await taken;
  if (status === undefined) throw new Error('the connection ended before the program did');
  const words = Buffer.concat(stderr).toString('utf8');
  const exitCode = exitCodeOf(status);
  return {
    exitCode,
    stdout: Buffer.concat(stdout).toString('utf8'),
    stderr: exitCode === null && words === '' ? (status.message ?? 'no reason was given') : words,
  };
};
