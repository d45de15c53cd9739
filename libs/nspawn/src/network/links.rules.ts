import { overlap } from './addresses.rules.js';

/** A device, as `ip -json address show` and `ip -json link show` print it. */
export interface Link {
  readonly ifname: string;
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number; readonly family?: string }[];
}

/** What `ip -json` printed; of no device at all it prints nothing. */
export const linksIn = (printed: string): readonly Link[] =>
  printed.trim() === '' ? [] : (JSON.parse(printed) as readonly Link[]);

/** What `ip` prints for a device that is gone, for example with its namespace. */
export const saysNoDevice = (words: string): boolean => /Cannot find device/.test(words);

/** What `ip` prints for an address that its device does not have. */
export const saysNoAddress = (words: string): boolean =>
  /Address not found|Cannot assign requested address/.test(words);

/** Whose address is in that range, and which one; the device that is to have it does not count. */
export const addressWithin = (
  links: readonly Link[],
  { cidr, except }: { readonly cidr: string; readonly except: string },
): { readonly device: string; readonly address: string } | undefined => {
  for (const { ifname, addr_info = [] } of links) {
    const found = addr_info.find(
      ({ family, local, prefixlen }) =>
        family === 'inet' && ifname !== except && overlap(`${local ?? ''}/${prefixlen ?? 32}`, cidr),
    );
    if (found !== undefined) return { device: ifname, address: found.local ?? '' };
  }
  return undefined;
};
