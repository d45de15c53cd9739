import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KeyPair } from '../certificates/certificate.authority.js';
import { ApiServer, type ApiEndpoint } from './api.server.js';
import type { ServedCluster } from './exchange.js';
import type { TokenAuthentication } from './identity.js';

/** Node looks so often at the connections of each server for requests that do not end; a lab may have a thousand idle servers. */
const CONNECTIONS_CHECK_MS = 5 * 60_000;
/** Sessions are resumed for as long as by kube-apiserver. */
const SESSION_S = 24 * 60 * 60;

/** One open API server address. */
export interface ApiListener {
  readonly host: string;
  /** The port that was given, when the request was 0. */
  readonly port: number;
  /** Stops serving: open watches end, open connections are closed. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly caPem: string;
  readonly serving: KeyPair;
  readonly version: () => string;
  readonly authentication?: TokenAuthentication;
}

/** Serves the cluster's API over TLS. Client certificates are asked for and verified, not demanded: tokens and health probes have none. */
export const listenApi = async (cluster: ServedCluster, options: ListenOptions): Promise<ApiListener> => {
  const { host, port, caPem, serving, version, authentication } = options;
  const server = createServer({
    key: serving.keyPem,
    cert: serving.certPem,
    ca: caPem,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    sessionTimeout: SESSION_S,
    connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
  });
  // Watches are quiet for minutes; Node must not take that for a dead client.
  server.requestTimeout = 0;
  server.timeout = 0;
  const bound = await listening(server, host, port);
  const address = `${host}:${bound.port}`;
  const endpoint: ApiEndpoint = { address, version, ...(authentication === undefined ? {} : { authentication }) };
  const api = new ApiServer(cluster, endpoint);
  server.on('request', (request, response) => void api.handle(request, response));
  server.on('upgrade', (request, socket, head) => void api.upgrade(request, socket, head));
  return {
    host,
    port: bound.port,
    close: () =>
      new Promise((resolve, reject) => {
        api.close();
        server.close((error) => (error === undefined || isClosed(error) ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
};

const listening = (server: Server, host: string, port: number): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      if (address === null || typeof address === 'string')
        reject(new Error(`the API listener on ${host}:${port} has no TCP address`));
      else resolve(address);
    });
  });

const isClosed = (error: Error & { readonly code?: string }): boolean => error.code === 'ERR_SERVER_NOT_RUNNING';
