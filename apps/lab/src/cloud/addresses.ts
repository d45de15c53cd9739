import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Second octets that a lab may take: 127.64.0.0 to 127.127.255.255. 127.0.0.0/16 stays the machine's own. */
const OCTET_FIRST = 64;
const OCTET_COUNT = 64;

/** The lab listens on this port of its gateway address for as long as it lives: that is its claim on the whole 127.x.0.0/16. */
const CLAIM_PORT = 2222;

export interface AddressClaim {
  readonly octet: number;
  release(): Promise<void>;
}

class AddressesTaken extends Error {}

/**
 * Claims a 127.x.0.0/16 of its own for a lab. A lab that has had one gets that one again or fails: its hosts' addresses must not change.
 * A new lab starts looking at a number derived from its data folder, so that two labs rarely meet.
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

/** Third octets of machines and of load balancers; they never share an address. */
const RANGES = { machine: { first: 1, last: 199 }, loadBalancer: { first: 200, last: 254 } } as const;
const LOW_FIRST = 1;
const LOW_LAST = 254;
const PER_THIRD = LOW_LAST - LOW_FIRST + 1;

export type AddressKind = keyof typeof RANGES;

/** Gives out addresses in order, each again only after all others: a client that pinned a host's key does not soon meet another host there. */
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

  /** Where to go on after a restart. */
  position(): Readonly<Record<AddressKind, number>> {
    return this.next;
  }

  /** Marks the address of something that was there before a restart. */
  reserve(address: string): void {
    this.used.add(address);
  }

  /** Undefined when all are in use. */
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
