import { AwsSettings, faultsOf, refuse, settingRefusal } from '@fairlead/contracts';
import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { AwsProvider } from './aws.provider.js';
import { AwsSession, type AwsLimits } from './aws.session.js';

/** How many sessions with their connections are cached. */
const SESSIONS_MAX = 100;
/** It becomes part of the names of AWS's hosts. */
const REGION = /^[a-z]{2}(-[a-z]{2,12}){1,3}-\d{1,2}$/;

/** Instances of AWS: EC2 and Elastic Load Balancing, with an access key or, where it is declared, the host's role. */
export const awsKind = (limits: AwsLimits): ProviderKind => {
  const sessions = new LRUCache<string, AwsSession>({ max: SESSIONS_MAX });
  return {
    name: 'aws',
    open: ({ name, region, zone, settings: given, registration }, secret) => {
      const [fault] = faultsOf(AwsSettings, given);
      if (fault !== undefined) return settingRefusal(name, fault);
      if (!REGION.test(region))
        return refuse(
          'connection.settings-invalid',
          { connection: name, detail: `${region} is not the name of a region of AWS, e.g. eu-central-1` },
          'region',
        );
      const settings = AwsSettings.parse(given);
      const own = settings.credentials === 'key' ? secret?.trim() : undefined;
      const detail = 'it has no secret: the secret half of the access key';
      if (settings.credentials === 'key' && (own === undefined || own === ''))
        return refuse('connection.settings-invalid', { connection: name, detail }, 'settings.secret');
      const at = { connection: name, region, zone, settings };
      const key = createHash('sha256')
        .update(JSON.stringify([registration, at, own ?? null]))
        .digest('hex');
      const session = sessions.get(key) ?? new AwsSession(at, own, limits);
      sessions.set(key, session);
      return new AwsProvider(session);
    },
  };
};
