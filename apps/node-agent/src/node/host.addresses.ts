import { isIP } from 'node:net';
import { HOST_ADDRESSES_MAX } from '@fairlead/contracts';
import { DEVICES } from '@fairlead/node-scripts';
import type { HostPort } from './host.ports.js';

const TEXT_MAX = 65_536;
const LINES_MAX = 512;
const LINE_MAX = 512;
const TIMEOUT_MS = 10_000;

/** Made by Kubernetes, network plugins and container runtimes. */
const OF_PODS = new RegExp(`${DEVICES}|^(veth|docker|br-|nerdctl|tunl0$)`);

const SCOPE = 'scope';
const NOT_FOR_OTHERS = ['temporary', 'tentative', 'deprecated'];

/** `2: eth0    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0`, as `ip -o address show` prints it. */
const addressIn = (line: string): string | undefined => {
  const [, device = '', family, network = '', ...more] = line
    .slice(0, LINE_MAX)
    .split(' ')
    .filter((word) => word !== '');
  const address = network.split('/')[0] ?? '';
  if ((family !== 'inet' && family !== 'inet6') || isIP(address) === 0) return undefined;
  if (more[more.indexOf(SCOPE) + 1] !== 'global' || OF_PODS.test(device)) return undefined;
  return more.some((word) => NOT_FOR_OTHERS.includes(word)) ? undefined : address.toLowerCase();
};

/** Those that other hosts can reach: neither of loopback, nor link-local, nor temporary, nor of pods. */
export const addressesIn = (text: string): readonly string[] => {
  const found = text
    .slice(0, TEXT_MAX)
    .split('\n')
    .slice(0, LINES_MAX)
    .flatMap((line) => addressIn(line) ?? []);
  return [...new Set(found)].toSorted().slice(0, HOST_ADDRESSES_MAX);
};

/** undefined: the host does not say. */
export const addressesOn = async (host: HostPort): Promise<readonly string[] | undefined> => {
  const { code, stdout } = await host.run('ip', ['-o', 'address', 'show'], { timeoutMs: TIMEOUT_MS });
  return code === 0 ? addressesIn(stdout) : undefined;
};
