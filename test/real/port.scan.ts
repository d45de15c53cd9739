import type { Outsider } from './outsider.js';

const SCAN_TIMEOUT_MS = 600_000;
/** Waiting for a CPU makes nmap consider responses late: on a busy machine it needed 228 s instead of 10 s. */
const FIRST = ['nice', '-n', '-10'];
/**
 * A port that drops packets costs nmap a timeout, unless its rate is given. On a busy machine, it then misses
 * responses.
 */
const HURRIED = ['-T4', '--min-rate', '8000', '--max-retries', '1'];
const PATIENT = ['--max-retries', '6'];

/** nmap's greppable output: `Host: 198.18.64.11 () Ports: 22/open/tcp//ssh///, 111/filtered/tcp//...`. */
export const openPortsIn = (greppable: string): Readonly<Record<string, readonly number[]>> =>
  Object.fromEntries(
    [...greppable.matchAll(/^Host: (\S+) .*?Ports: ([^\t\n]*)/gmu)].map(([, host = '', ports = '']) => [
      host,
      [...ports.matchAll(/(\d+)\/open\//gu)].map(([, port]) => Number(port)),
    ]),
  );

/** The open TCP ports of these addresses from there, by nmap; an address without any has no entry. */
export const scan = async (
  from: Outsider,
  addresses: readonly string[],
  ports: readonly number[] | 'all' = 'all',
): Promise<Readonly<Record<string, readonly number[]>>> => {
  const how = ports === 'all' ? ['-p-', ...HURRIED] : [`-p${ports.join(',')}`, ...PATIENT];
  const words = [...FIRST, 'nmap', '-n', '-Pn', '-sS', ...how, '--open', '-oG', '-', ...addresses];
  const { code, stdout, stderr } = await from.run(words, SCAN_TIMEOUT_MS);
  if (code !== 0 || !stdout.includes('# Nmap done')) throw new Error(`nmap ended with ${code}: ${stderr}${stdout}`);
  return openPortsIn(stdout);
};

/** All ports, and once more those known to be open somewhere: the full scan is too fast to be reliable. */
export const scanAll = async (
  from: Outsider,
  addresses: readonly string[],
  known: readonly number[],
): Promise<Readonly<Record<string, readonly number[]>>> => {
  const scans = [await scan(from, addresses), await scan(from, addresses, known)];
  const openAt = (address: string): readonly number[] => [...new Set(scans.flatMap((one) => one[address] ?? []))];
  return Object.fromEntries(
    addresses.flatMap((address) => {
      const open = openAt(address).toSorted((one, other) => one - other);
      return open.length === 0 ? [] : [[address, open]];
    }),
  );
};
