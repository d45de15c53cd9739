import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KeyPair } from '../certificates/certificate.authority.js';
import { ApiServer, type ApiEndpoint } from './api.server.js';
import type { ServedCluster } from './exchange.js';
import type { TokenAuthentication } from './identity.js';

/**
 * How often Node.js checks the connections of each server for requests that never complete. A lab may have a thousand
 * idle servers.
 */
const CONNECTIONS_CHECK_MS = 5 * 60_000;
/** TLS sessions can be resumed for as long as with kube-apiserver. */
const SESSION_S = 24 * 60 * 60;

/** The address of a listening API server. */
export interface ApiListener {
  readonly host: string;
  /** The allocated port if 0 was requested. */
  readonly port: number;
  /** Stops serving: ends open watches and closes connections. */
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

/**
 * Serves the cluster's API over TLS. Client certificates are requested and verified but optional, because tokens and
 * health probes are used without one.
 */
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
  // Watches can be idle for minutes, which Node.js must not treat as a dead client.
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
