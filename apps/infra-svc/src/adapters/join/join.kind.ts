import { JoinSettings, refuse } from '@fairlead/contracts';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { JoinProvider } from './join.provider.js';
import type { JoinedHosts } from './joined.hosts.js';

/** Hosts that join by themselves. */
export const joinKind = (hosts: JoinedHosts): ProviderKind => {
  const givenBack = new Set<string>();
  return {
    name: 'join',
    open: (connection) => {
      const parsed = JoinSettings.safeParse(connection.settings);
      if (parsed.success) return new JoinProvider({ ...connection, profile: parsed.data.profile }, hosts, givenBack);
      const detail = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      return refuse('connection.settings-invalid', { connection: connection.name, detail });
    },
  };
};
