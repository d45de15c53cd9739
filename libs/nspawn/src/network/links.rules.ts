import { overlap } from './addresses.rules.js';

/** A device, as printed by `ip -json address show` and `ip -json link show`. */
export interface Link {
  readonly ifname: string;
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number; readonly family?: string }[];
}

/** Parses the output of `ip -json`, which prints nothing if there is no device. */
export const linksIn = (printed: string): readonly Link[] =>
  printed.trim() === '' ? [] : (JSON.parse(printed) as readonly Link[]);

/** The error of `ip` for a missing device, for example one removed with its namespace. */
export const saysNoDevice = (words: string): boolean => /Cannot find device/.test(words);

/** The error of `ip` for an address that its device does not have. */
export const saysNoAddress = (words: string): boolean =>
  /Address not found|Cannot assign requested address/.test(words);

/** The device with an address in that range, and the address, except for the device that should have it. */
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
