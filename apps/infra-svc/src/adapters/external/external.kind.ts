import { ExternalSettings, faultsOf, settingRefusal } from '@fairlead/contracts';
import { LRUCache } from 'lru-cache';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { ExternalClient, type ExternalLimits } from './external.client.js';
import { ExternalProvider } from './external.provider.js';

/** How many clients of providers are cached. */
const CLIENTS_MAX = 50;

/** A provider that runs as a separate process, in any language: docs/provider-protocol.md. */
export const externalKind = (limits: ExternalLimits): ProviderKind => {
  const clients = new LRUCache<string, ExternalClient>({ max: CLIENTS_MAX, dispose: (client) => client.close() });
  return {
    name: 'external',
    open: ({ name, region, zone, settings }, secret = '') => {
      const [fault] = faultsOf(ExternalSettings, settings);
      if (fault !== undefined) return settingRefusal(name, fault);
      const { address, options } = ExternalSettings.parse(settings);
      const client = clients.get(address) ?? new ExternalClient(address, limits);
      clients.set(address, client);
      return new ExternalProvider(client, {
        name,
        region,
        zone,
        options: JSON.stringify(options),
        secret: secret.trim(),
      });
    },
  };
};
