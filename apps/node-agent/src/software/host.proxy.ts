import { isInNetwork, isSameAddress, type HostProxy } from '@fairlead/contracts';

const isExcepted = (host: string, rule: string): boolean => {
  if (rule.includes('/')) return isInNetwork(host, rule);
  const domain = rule.startsWith('.') ? rule : `.${rule}`;
  return isSameAddress(host, rule) || host.toLowerCase().endsWith(domain.toLowerCase());
};

/** The proxy for a URL; undefined: connect directly. */
export const proxyOf = (url: URL, proxy: HostProxy | undefined): URL | undefined => {
  const through = url.protocol === 'https:' ? proxy?.https : proxy?.http;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (through === undefined || (proxy?.no ?? []).some((rule) => isExcepted(host, rule))) return undefined;
  return new URL(through);
};

/** The proxy variables for programs of the host. */
export const proxyEnvironment = (proxy: HostProxy | undefined): Readonly<Record<string, string>> =>
  proxy === undefined
    ? {}
    : {
        ...(proxy.http === undefined ? {} : { http_proxy: proxy.http }),
        ...(proxy.https === undefined ? {} : { https_proxy: proxy.https }),
        no_proxy: (proxy.no ?? []).join(','),
      };

/** For the container runtime; Go reads upper-case names. Empty without a proxy. */
export const proxyDropIn = (proxy: HostProxy | undefined): string => {
  const lines = Object.entries(proxyEnvironment(proxy)).map(
    ([name, value]) => `Environment="${name.toUpperCase()}=${value}"\n`,
  );
  return lines.length === 0 ? '' : `# Written by Fairlead.\n[Service]\n${lines.join('')}`;
};
