import { LabSettings, refuse } from '@fairlead/contracts';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { LabClient, type LabLimits } from './lab.client.js';
import { LabProvider } from './lab.provider.js';

/** Unknown settings, which an earlier release accepted, are ignored. */
const Known = LabSettings.strip();

/** The lab: a simulation of a cloud. */
export const labKind = (limits: LabLimits): ProviderKind => ({
  name: 'lab',
  open: ({ name, settings }, token) => {
    const parsed = Known.safeParse(settings);
    if (parsed.success) {
      return new LabProvider(new LabClient(parsed.data.endpoint, token, limits), name, parsed.data.image);
    }
    const detail = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    return refuse('connection.settings-invalid', { connection: name, detail });
  },
});
