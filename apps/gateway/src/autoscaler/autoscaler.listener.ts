import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';

/** PEM: whom clients must be signed by, and what the server shows. */
export interface ListenerIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Where a connection goes once its client is known. */
export interface ConnectionTarget {
  injectConnection(connection: TLSSocket): void;
}

export interface ListenerLimits {
  /** From the connection to the end of its TLS handshake. */
  readonly handshakeMs: number;
  readonly connectionsMax: number;
  /** Of one certificate: an autoscaler has one or two. */
  readonly connectionsEachMax: number;
}

const LIMITS: ListenerLimits = { handshakeMs: 10_000, connectionsMax: 2_000, connectionsEachMax: 8 };

/** Accepts TLS connections of clients with a certificate of the authority. The library's own port has no limits. */
export class AutoscalerListener {
  private readonly server: Server;
  private readonly open = new Map<string, number>();

  constructor(
    identity: ListenerIdentity,
    private readonly target: ConnectionTarget,
    private readonly limits = LIMITS,
  ) {
    this.server = createServer(
      {
        ...identity,
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
        handshakeTimeout: limits.handshakeMs,
      },
      (socket) => this.accept(socket),
    );
    this.server.maxConnections = limits.connectionsMax;
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** Resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, () => {
        this.server.off('error', reject);
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  }

  /** Accepts no more; connections go on until their target ends them. */
  close(): void {
    this.server.close();
  }

  private accept(socket: TLSSocket): void {
    // A client may go at any time.
    socket.on('error', () => undefined);
    const client = socket.getPeerCertificate().fingerprint256;
    const open = (this.open.get(client) ?? 0) + 1;
    if (open > this.limits.connectionsEachMax) {
      socket.destroy();
      return;
    }
    this.open.set(client, open);
    socket.once('close', () => {
      const left = (this.open.get(client) ?? 1) - 1;
      if (left === 0) this.open.delete(client);
      else this.open.set(client, left);
    });
    this.target.injectConnection(socket);
  }
}
