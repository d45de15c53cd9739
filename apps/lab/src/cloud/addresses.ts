import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Second octets available to labs: 127.64.0.0 to 127.127.255.255. 127.0.0.0/16 is reserved for the machine itself. */
const OCTET_FIRST = 64;
const OCTET_COUNT = 64;

/** The lab listens on this port of its gateway address while it runs, which claims the whole 127.x.0.0/16. */
const CLAIM_PORT = 2222;

export interface AddressClaim {
  readonly octet: number;
  release(): Promise<void>;
}

class AddressesTaken extends Error {}

/**
 * Claims a 127.x.0.0/16 for a lab. A lab that restarts gets its former range or fails, because the addresses of its
 * hosts must not change. A new lab starts its search at a number derived from its data folder, so that two labs rarely
 * collide.
 */
export const claimAddresses = async (dataFolder: string, previous: number | undefined): Promise<AddressClaim> => {
  if (previous !== undefined) {
    const claim = await tryClaim(previous);
    if (claim === undefined) throw new AddressesTaken(`127.${previous}.0.0/16 is in use by another lab`);
    return claim;
  }
  const start = createHash('sha256').update(dataFolder).digest().readUInt16BE() % OCTET_COUNT;
  for (let probe = 0; probe < OCTET_COUNT; probe += 1) {
    const claim = await tryClaim(OCTET_FIRST + ((start + probe) % OCTET_COUNT));
    if (claim !== undefined) return claim;
  }
  throw new AddressesTaken(`every range from 127.${OCTET_FIRST}.0.0/16 on is in use by other labs`);
};

const tryClaim = (octet: number): Promise<AddressClaim | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else if (error.code === 'EADDRNOTAVAIL') reject(new AddressesTaken(NO_LOOPBACK_RANGE));
      else reject(error);
    });
    server.listen({ host: `127.${octet}.0.1`, port: CLAIM_PORT, exclusive: true }, () =>
      resolve({ octet, release: () => closed(server) }),
    );
  });

const NO_LOOPBACK_RANGE =
  'this system answers only on 127.0.0.1, and every simulated host needs an address of its own in 127.0.0.0/8 (Linux has them; elsewhere add loopback aliases)';

const closed = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

/** Third octets of machines and of load balancers, which never share an address. */
const RANGES = { machine: { first: 1, last: 199 }, loadBalancer: { first: 200, last: 254 } } as const;
const LOW_FIRST = 1;
const LOW_LAST = 254;
const PER_THIRD = LOW_LAST - LOW_FIRST + 1;

export type AddressKind = keyof typeof RANGES;

/**
 * Allocates addresses in order and reuses one only after all others, so that a client that pinned a host key does not
 * soon find another host at the same address.
 */
export class Addresses {
  private readonly used = new Set<string>();
  private readonly next: Record<AddressKind, number>;

  constructor(
    private readonly octet: number,
    next: Readonly<Record<AddressKind, number>>,
    private readonly onTaken: () => void,
  ) {
    this.next = { ...next };
  }

  /** The position from which allocation continues after a restart. */
  position(): Readonly<Record<AddressKind, number>> {
    return this.next;
  }

  /** Marks an address as used by a resource that existed before a restart. */
  reserve(address: string): void {
    this.used.add(address);
  }

  /** Returns undefined if all addresses are in use. */
  take(kind: AddressKind): string | undefined {
    const { first, last } = RANGES[kind];
    const size = (last - first + 1) * PER_THIRD;
    for (let probe = 0; probe < size; probe += 1) {
      const position = this.next[kind] % size;
      this.next[kind] = position + 1;
      const address = `127.${this.octet}.${first + Math.floor(position / PER_THIRD)}.${LOW_FIRST + (position % PER_THIRD)}`;
      if (this.used.has(address)) continue;
      this.used.add(address);
      this.onTaken();
      return address;
    }
    return undefined;
  }

  release(address: string): void {
    this.used.delete(address);
  }
}
