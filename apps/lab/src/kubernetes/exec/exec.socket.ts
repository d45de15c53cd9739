import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { ToolResult } from '../etcd/etcd.tools.js';
import type { NoSuchProgram } from './container.programs.js';

/** Newest first, in the API server's order of preference (k8s.io/apimachinery, remotecommand). */
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
/** A real kubelet sends one message per read of the pipe. */
const CHUNK_BYTES = 32 * 1024;
const NORMAL_CLOSURE = 1000;

const server = new WebSocketServer({
  noServer: true,
  handleProtocols: (offered) => PROTOCOLS.find((protocol) => offered.has(protocol)) ?? false,
});

/** The WebSocket of an exec request, with Kubernetes' channel numbers. The exit status is sent last. */
export const answerExec = (
  { request, socket, head }: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
  result: ToolResult | NoSuchProgram,
): void =>
  server.handleUpgrade(request, socket, head, (channel) => {
    if ('missing' in result) send(channel, STATUS, JSON.stringify(notFound(result.missing)));
    else {
      sendAll(channel, STDOUT, result.stdout);
      sendAll(channel, STDERR, result.stderr);
      send(channel, STATUS, JSON.stringify(exitStatus(result.exitCode)));
    }
    channel.close(NORMAL_CLOSURE);
  });

const send = (channel: WebSocket, stream: number, data: string | Buffer): void =>
  channel.send(Buffer.concat([Buffer.from([stream]), Buffer.from(data)]));

const sendAll = (channel: WebSocket, stream: number, data: string | Buffer): void => {
  const bytes = Buffer.from(data);
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) send(channel, stream, bytes.subarray(at, at + CHUNK_BYTES));
};

const exitStatus = (exitCode: number): object =>
  exitCode === 0
    ? { metadata: {}, status: 'Success' }
    : {
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: exit status ${exitCode}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
      };

const notFound = (program: string): object => ({
  metadata: {},
  status: 'Failure',
  message:
    'Internal error occurred: error executing command in container: failed to exec in container: failed to start exec: ' +
    `OCI runtime exec failed: exec failed: unable to start container process: exec: "${program}": executable file not found in $PATH: unknown`,
  reason: 'InternalError',
  details: { causes: [{ message: `exec: "${program}": executable file not found in $PATH` }] },
  code: 500,
});
