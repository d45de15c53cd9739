import { createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/**
 * Ports are below the kernel's ephemeral range (32768 and up on Linux): a client that keeps reconnecting to a closed
 * port of that range can be assigned the same port and connect to itself, and the server never gets its address back.
 */
const RANGE = { first: 20_000, size: 10_000 } as const;
const PROBES_MAX = 500;

/** Whether that loopback port is free. */
export const isPortFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host: LOOPBACK, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });

/**
 * Free loopback ports, the same ones for the same seed while they are free, so that an address is likely to stay the
 * same.
 */
export const freePorts = async (seed: string, count: number): Promise<readonly number[]> => {
  const found: number[] = [];
  const start = hashOf(seed) % RANGE.size;
  for (let probe = 0; found.length < count && probe < PROBES_MAX; probe += 1) {
    const port = RANGE.first + ((start + probe) % RANGE.size);
    if (await isPortFree(port)) found.push(port);
  }
  if (found.length < count)
    throw new Error(`no ${count} free ports among ${PROBES_MAX} tried above ${RANGE.first + start}`);
  return found;
};

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5; // FNV-1a, 32 bit.
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
};
