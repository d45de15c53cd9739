import { createHash } from 'node:crypto';
import { refuse, settingRefusal, OpenstackSettings, faultsOf } from '@fairlead/contracts';
import { LRUCache } from 'lru-cache';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { OpenstackProvider } from './openstack.provider.js';
import { CloudSession, type CloudLimits } from './openstack.session.js';

/** How many sessions with their tokens are cached. */
const SESSIONS_MAX = 100;

/** Servers of OpenStack: Nova, Neutron and Glance, with an application credential of Keystone. */
export const openstackKind = (limits: CloudLimits): ProviderKind => {
  const sessions = new LRUCache<string, CloudSession>({ max: SESSIONS_MAX });
  return {
    name: 'openstack',
    open: ({ name, region, settings: given, registration }, secret) => {
      const [fault] = faultsOf(OpenstackSettings, given);
      if (fault !== undefined) return settingRefusal(name, fault);
      const detail = 'it has no secret of its application credential';
      if (secret === undefined || secret.trim() === '')
        return refuse('connection.settings-invalid', { connection: name, detail }, 'settings.secret');
      const at = { connection: name, region, settings: OpenstackSettings.parse(given) };
      const key = createHash('sha256')
        .update(JSON.stringify([registration, at, secret]))
        .digest('hex');
      const session = sessions.get(key) ?? new CloudSession(at, secret.trim(), limits);
      sessions.set(key, session);
      return new OpenstackProvider(session);
    },
  };
};
