import type { Outsider } from './outsider.js';

const SCAN_TIMEOUT_MS = 300_000;
/** A port that drops packets costs nmap a wait, unless its pace is given. */
const PACE = ['-T4', '--min-rate', '8000', '--max-retries', '1'];

/** nmap's lines for programs: `Host: 198.18.64.11 ()	Ports: 22/open/tcp//ssh///, 111/filtered/tcp//...`. */
export const openPortsIn = (greppable: string): Readonly<Record<string, readonly number[]>> =>
  Object.fromEntries(
    [...greppable.matchAll(/^Host: (\S+) .*?Ports: ([^\t\n]*)/gmu)].map(([, host = '', ports = '']) => [
      host,
      [...ports.matchAll(/(\d+)\/open\//gu)].map(([, port]) => Number(port)),
    ]),
  );

/** The TCP ports of these addresses that accept connections from there, by nmap; an address without one has no entry. */
export const scan = async (
  from: Outsider,
  addresses: readonly string[],
  ports: readonly number[] | 'all' = 'all',
): Promise<Readonly<Record<string, readonly number[]>>> => {
  const range = ports === 'all' ? '-p-' : `-p${ports.join(',')}`;
  const words = ['nmap', '-n', '-Pn', '-sS', range, ...PACE, '--open', '-oG', '-', ...addresses];
  const { code, stdout, stderr } = await from.run(words, SCAN_TIMEOUT_MS);
  if (code !== 0 || !stdout.includes('# Nmap done')) throw new Error(`nmap ended with ${code}: ${stderr}${stdout}`);
  return openPortsIn(stdout);
};
