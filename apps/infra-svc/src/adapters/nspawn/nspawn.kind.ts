import { refuse } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { openLocal, type Local } from '@fairlead/nspawn';
import { join } from 'node:path';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { NspawnProvider } from './nspawn.provider.js';
import { defaultCidr, HostSettings } from './nspawn.settings.js';

/** Local hosts: real Linux on the machine that infra-svc runs on. */
export const nspawnKind = (env: Readonly<Record<string, string | undefined>>): ProviderKind => {
  // Operations on one host are serialized across all registrations of the connection.
  const opened = new Map<string, Local>();
  const local = (stateDir: string, cacheDir: string): Local => {
    const known = opened.get(stateDir) ?? openLocal({ stateDir, cacheDir });
    opened.set(stateDir, known);
    return known;
  };
  return {
    name: 'nspawn',
    open: ({ name, settings }) => {
      const parsed = HostSettings.safeParse(settings);
      if (!parsed.success) {
        const detail = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
        return refuse('connection.settings-invalid', { connection: name, detail });
      }
      const {
        stateDir,
        cacheDir = cacheFolder(env),
        mirror = localMirror(env),
        networkCidr,
        zones,
        system,
      } = parsed.data;
      return new NspawnProvider({
        connection: name,
        local: () => local(join(stateDir, name), cacheDir),
        cidr: networkCidr ?? defaultCidr(name),
        mirror,
        system,
        zones,
        profile: parsed.data.profile,
      });
    },
  };
};
